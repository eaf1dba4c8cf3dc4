"""What has to be true before anything is imported."""

import os

# Whoever forks wants gRPC's own fork handlers off, and gRPC reads this once, when it is first imported.
# The client sets it, but other tests import gRPC before the client.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
