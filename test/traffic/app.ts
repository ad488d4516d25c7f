/** A network namespace in; an application in it out that answers with its name and who the proxy says is calling. */
import { spawn } from "node:child_process";
import { once } from "node:events";

const text = `
const name = process.argv[1];
// It does not close a connection in the very moment in which the proxy uses it again.
require("node:http").createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  const peer = String(request.headers["x-forwarded-client-cert"]).split(";").filter((part) => /^(By|URI)=/.test(part));
  response.end([name, ...peer].join(" "));
}).listen(8080, () => console.log("ready"));
process.stdin.on("end", () => process.exit()).resume();
`;

/** On port 8080; it ends with this process. */
export async function startApp(namespace: string, name: string): Promise<() => void> {
  const app = spawn("nsenter", [`--net=${namespace}`, "--", process.execPath, "-e", text, name], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(app.stdout, "data");
  return () => app.kill("SIGKILL");
}
