"""What listens: gRPC and HTTP adapters that decode, call and encode. No policy."""
