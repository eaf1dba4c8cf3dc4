// The source of ../remote_provider in JavaScript: no generated code, the .proto files are read when it starts.
// npm install, then: node server.mjs 127.0.0.1:50061
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const root = fileURLToPath(new URL("../../", import.meta.url)); // the proto root is the repository
const definition = loader.loadSync("protos/guidance/v1/provider.proto", {
  includeDirs: [root],
  keepCase: true,
  enums: String,
  longs: Number,
});
const { ProviderService } = grpc.loadPackageDefinition(definition).guidance.v1;

const STANCE = [-0.3, -0.6, 0.2];
const COLUMNS = 11;

function advise(observation) {
  // float64 [B, 11] in, float32 [B, 3] out; both little-endian and row-major
  const rows = observation.data.length / 8 / COLUMNS;
  const data = Buffer.alloc(rows * 3 * 4);
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < 3; i++) {
      const at = (column) => observation.data.readDoubleLE((row * COLUMNS + column) * 8);
      const torque = 1.0 * (STANCE[i] - at(2 + i)) - 0.1 * at(8 + i);
      data.writeFloatLE(Math.min(1, Math.max(-1, torque)), (row * 3 + i) * 4);
    }
  }
  return { dtype: "DATA_TYPE_FLOAT32", shape: [rows, 3], data };
}

const server = new grpc.Server();
server.addService(ProviderService.service, {
  Describe: (call, reply) =>
    reply(null, {
      info: {
        provider_id: "stance",
        guidance_kinds: ["GUIDANCE_KIND_ACTION"],
        period_us: 8000,
        leasable: true,
        action: { box: { shape: [3] } },
      },
    }),
  Guide: (call, reply) =>
    reply(null, {
      outcome: "GUIDE_OUTCOME_OK",
      guidance: { action: { continuous: advise(call.request.ask.observations.observation) } },
    }),
});

const address = process.argv[2] ?? "127.0.0.1:50061";
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`serving on port ${port}`);
});
