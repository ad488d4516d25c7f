/** Targets that go through a server or a file: HTTP of the ops ports, kubeconfigs, tokens of the embedded API. */
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStore } from "../../../src/apiserver/store.ts";
import { openStoreFile } from "../../../src/apiserver/store-file.ts";
import { openTokens } from "../../../src/apiserver/tokens.ts";
import { loadKubeconfig } from "../../../src/kube/index.ts";
import { silentLogger } from "../../../src/lib/index.ts";
import { createHttpServer, type HttpHandler } from "../../../src/ops/index.ts";
import { mutateText } from "../mutate.ts";
import { type Target, target } from "../target.ts";

const kubeconfig =
  "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: c, user: u, namespace: n}\nclusters:\n- name: c\n  cluster: {server: 'https://127.0.0.1:1', certificate-authority-data: YQ==}\nusers:\n- name: u\n  user: {token: t}\n";
const request =
  "POST /debug/syncz?proxyID=a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX-A: b\r\nConnection: close\r\n\r\n{}";

export async function serverTargets(): Promise<readonly Target[]> {
  const dir = mkdtempSync(join(tmpdir(), "fuzz-"));
  const server = await createHttpServer({
    address: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    maxBodyBytes: 1000,
    routes: new Map<string, HttpHandler>([
      ["/debug/", async (asked) => ({ status: 200, body: `${asked.url.pathname}${await asked.body()}` })],
      ["/ready", () => ({ status: 200, body: "" })],
    ]),
  });
  const { port } = server.address;
  const tokens = await openTokens(
    dir,
    createStore(openStoreFile(join(dir, "store.mdb")), silentLogger),
    () => new Date(),
  );
  const issued = await tokens.issue({
    namespace: "a",
    name: "b",
    uid: "c",
    audiences: ["x"],
    expirationSeconds: 600,
    bound: undefined,
  });
  const file = join(dir, "kubeconfig");
  return [
    target({
      name: "http requests",
      input: (random) =>
        mutateText(
          random,
          [
            request,
            request.replace("Content-Length: 2", "Transfer-Encoding: chunked").replace("{}", "1\r\na\r\n0\r\n\r\n"),
          ],
          [
            "\r\n",
            "\n",
            " ",
            ":",
            "/",
            "..",
            "%2e",
            "%",
            "\0",
            "HTTP/1.1",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "\t",
            "http://b/",
          ],
        ),
      run: async (text) => {
        const socket = connect(port, "127.0.0.1");
        let answer = "";
        socket.on("data", (chunk) => (answer += chunk)).on("error", () => {});
        const closed = once(socket, "close").catch(() => {});
        socket.end(text, "utf8");
        await closed;
        return answer;
      },
      weight: 8,
    }),
    target({
      name: "kubeconfigs",
      input: (random) =>
        mutateText(
          random,
          [kubeconfig],
          ["\n", "  ", ": ", "- ", "name", "user", "{", "}", "&a ", "*a", "exec: ", "null"],
        ),
      run: async (text) => {
        writeFileSync(file, text);
        return (await loadKubeconfig({ paths: [file], env: {} })).server;
      },
      weight: 4,
    }),
    target({
      name: "tokens",
      input: (random) => mutateText(random, [issued.token], [".", "=", "-", "_", "A", "eyJhbGciOiJub25lIn0"]),
      run: async (text) => {
        const verdict = await tokens.verify(text, ["x"]);
        return "error" in verdict ? verdict.error : verdict.user.name;
      },
      weight: 2,
    }),
  ];
}
