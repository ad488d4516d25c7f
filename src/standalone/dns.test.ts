import { once } from "node:events";
import { connect } from "node:net";
import { type Answer, decode, encode } from "dns-packet";
import { expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import { createClusterDns } from "./dns.ts";

const options = {
  address: "127.0.0.1",
  port: 0,
  domain: "cluster.local",
  lookup: (name: string) => (name === "web.default.svc.cluster.local" ? ["10.1.0.1"] : undefined),
  log: silentLogger,
};

test("answers over TCP, and does not wait for a client that stays when it is closed", {
  timeout: 300_000,
}, async () => {
  const server = await createClusterDns(options);
  const client = connect(server.port, "127.0.0.1");
  client.on("error", () => {});
  const question = encode({
    type: "query",
    id: 7,
    questions: [{ type: "A", name: "web.default.svc.cluster.local" }],
  });
  const head = Buffer.alloc(2);
  head.writeUInt16BE(question.length);
  client.write(Buffer.concat([head, question]));
  const [data] = (await once(client, "data")) as [Buffer];
  const answers: readonly Answer[] = decode(data.subarray(2)).answers ?? [];
  expect(answers).toMatchObject([{ type: "A", data: "10.1.0.1" }]);
  await server.close();
  expect(client.destroyed || (await once(client, "close"))).toBeTruthy();
});
