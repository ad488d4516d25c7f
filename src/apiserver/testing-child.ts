/** The API as a process of its own, for tests that kill it: the data folder is its argument, and how many events it keeps; it says `ready` and its address. */
import { silentLogger } from "../lib/index.ts";
import { adminUser, createApiServer } from "./server.ts";

const [, , dataDir = "", historyLimit] = process.argv;
const server = await createApiServer({
  dataDir,
  now: () => new Date(),
  log: silentLogger,
  ...(historyLimit === undefined ? {} : { historyLimit: Number(historyLimit) }),
});
await server.writeKubeconfig(`${dataDir}/kubeconfig`, adminUser);
process.stdout.write(`ready ${server.url}\n`);
