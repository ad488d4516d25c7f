/**
 * A gRPC application that is its own xDS client, with the bootstrap that its environment names: `server HOST:PORT NAME`
 * answers each call with its name and who called; `client` makes a call for each message of its parent.
 */
import * as grpc from "@grpc/grpc-js";
import { register, XdsChannelCredentials, XdsServer, XdsServerCredentials } from "@grpc/grpc-js-xds";

/** What a client is told to send. */
export interface Order {
  readonly id: number;
  readonly target: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** What came of it: the answer, or the status. */
export interface Outcome {
  readonly id: number;
  readonly code: number;
  readonly details: string;
  readonly server?: string;
  readonly caller?: string;
}

const asBytes = (value: Buffer): Buffer => value;
const method = (path: string) => ({
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: asBytes,
  requestDeserialize: asBytes,
  responseSerialize: asBytes,
  responseDeserialize: asBytes,
});

const tell = (message: object): void => void process.send?.(message);

/** The methods that a test calls. */
const methods = ["Get", "Drop"];

function serve(address: string, name: string): void {
  // Connections keep the configuration that they were made with until they are drained.
  const server = new XdsServer({ drainGraceTimeMs: 100 });
  const definition = Object.fromEntries(methods.map((word) => [word, method(`/shop.Orders/${word}`)]));
  const answer: grpc.handleUnaryCall<Buffer, Buffer> = (call, done) => {
    const caller = call.getAuthContext().sslPeerCertificate?.subjectaltname ?? "";
    done(null, Buffer.from(JSON.stringify({ server: name, caller })));
  };
  server.addService(definition, Object.fromEntries(methods.map((word) => [word, answer])));
  const fallback = grpc.ServerCredentials.createInsecure();
  server.bindAsync(address, new XdsServerCredentials(fallback), (error) => {
    if (error) tell({ refused: error.message });
    else tell({ bound: address });
  });
  server.addServingStateListener(address, ({ code, details }) => tell({ serving: code === 0, details }));
}

function call(): void {
  const clients = new Map<string, grpc.Client>();
  const clientOf = (target: string): grpc.Client => {
    const fallback = grpc.credentials.createInsecure();
    const client = clients.get(target) ?? new grpc.Client(target, new XdsChannelCredentials(fallback));
    clients.set(target, client);
    return client;
  };
  process.on("message", ({ id, target, method: word, headers = {}, timeoutMs }: Order) => {
    const metadata = new grpc.Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    const deadline = Date.now() + timeoutMs;
    clientOf(target).makeUnaryRequest(
      `/shop.Orders/${word}`,
      asBytes,
      asBytes,
      Buffer.from("{}"),
      metadata,
      { deadline },
      (error, value) => {
        const { code = 0, details = "" } = error ?? {};
        const told = value ? JSON.parse(value.toString()) : {};
        tell({ id, code, details, ...told } satisfies Outcome);
      },
    );
  });
}

register();
const [role, ...words] = process.argv.slice(2);
if (role === "server") serve(words[0] ?? "", words[1] ?? "");
else call();
process.on("disconnect", () => process.exit(0));
