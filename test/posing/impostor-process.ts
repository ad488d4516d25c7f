/** A process in a Pod's namespace: a port and what to show there in, as its argument; a line of JSON for each caller, out. */
import { createImpostorServer } from "./impostor-server.ts";
import type { Impostor } from "./impostors.ts";

export interface Order {
  readonly port: number;
  /** Empty texts for one without TLS. */
  readonly shown: readonly NonNullable<Impostor["shown"]>[];
}

const { port, shown } = JSON.parse(process.argv[2] ?? "") as Order;
const certificates = shown.map((certificate) => (certificate.cert === "" ? undefined : certificate));
createImpostorServer(certificates, (visit) => process.stdout.write(`${JSON.stringify(visit)}\n`)).listen(
  port,
  "0.0.0.0",
  () => process.stdout.write("listening\n"),
);
