/** `up --check`: the running demo in; a table of what was proven, and an exit status, out. */
import { spawn } from "node:child_process";
import { parseObjects } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { Io } from "../command.ts";
import { applyObject, deleteObject } from "../objects.ts";
import { printTable } from "../table.ts";
import type { CheckContext } from "./check-context.ts";
import { checks } from "./checks.ts";
import type { Demo } from "./demo.ts";
import { demoConfig } from "./demo-files.ts";
import type { StandaloneMesh } from "./standalone-mesh.ts";

export async function checkDemo(mesh: StandaloneMesh, demo: Demo, io: Io): Promise<number> {
  const context = createContext(mesh, demo, (await hasKubectl()) ? kubectlWriter(mesh.kubeconfig) : ownWriter(mesh));
  const rows: string[][] = [];
  let failed = 0;
  for (const check of checks) {
    const started = performance.now();
    try {
      const seen = await check.run(context);
      rows.push(["ok", check.name, seen]);
      io.err(`ok    ${check.name} (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
    } catch (thrown) {
      failed++;
      const error = FairleadError.from(thrown);
      rows.push(["FAIL", check.name, error.message]);
      io.err(`FAIL  ${check.name}: ${error.message}\n`);
    }
  }
  await Promise.allSettled([context.remove("reviews-v1.yaml"), context.removeText(sniffedService)]);
  io.out(`\n${printTable(["", "CHECK", "SEEN"], rows)}`);
  io.out(`\n${rows.length - failed} of ${rows.length} checks passed\n`);
  return failed === 0 ? 0 : 1;
}

function createContext(mesh: StandaloneMesh, demo: Demo, write: Writer): CheckContext {
  return {
    mesh,
    demo,
    apply: (file) => write.apply(demoConfig(file)),
    applyText: write.apply,
    remove: (file) => write.remove(demoConfig(file)),
    removeText: write.remove,
    refusal: (yaml) =>
      write.apply(yaml).then(
        () => "it was accepted",
        (error: unknown) => FairleadError.from(error).message,
      ),
    async startSniffed() {
      await write.apply(sniffedService);
      await demo.start({
        name: "sniffed-v1",
        namespace: "default",
        labels: { app: "sniffed", version: "v1" },
        serviceAccount: "bookinfo-details",
        ports: [9090],
        type: "sidecar",
        command: demo.script("details"),
        env: { PORT: "9090" },
        restartPolicy: "Always",
      });
    },
  };
}

const sniffedService = `
apiVersion: v1
kind: Service
metadata: {name: sniffed, namespace: default}
spec: {selector: {app: sniffed}, ports: [{port: 9090}]}
`;

interface Writer {
  apply(yaml: string): Promise<void>;
  remove(yaml: string): Promise<void>;
}

interface Output {
  readonly status: number;
  readonly stderr: string;
}

/** Never synchronously: this very process is the API that kubectl talks to. */
function kubectl(args: readonly string[], input: string): Promise<Output> {
  return new Promise((resolve) => {
    const child = spawn("kubectl", [...args], { stdio: ["pipe", "ignore", "pipe"] });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
    });
    child.on("error", (error) => resolve({ status: 127, stderr: error.message }));
    child.on("close", (status) => resolve({ status: status ?? 1, stderr }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

async function hasKubectl(): Promise<boolean> {
  return (await kubectl(["version", "--client"], "")).status === 0;
}

function kubectlWriter(kubeconfig: string): Writer {
  const run = async (args: readonly string[], yaml: string): Promise<void> => {
    const { status, stderr } = await kubectl(["--kubeconfig", kubeconfig, ...args, "-f", "-"], yaml);
    if (status !== 0) throw new FairleadError("invalid", stderr.trim());
  };
  return { apply: (yaml) => run(["apply"], yaml), remove: (yaml) => run(["delete", "--ignore-not-found"], yaml) };
}

function ownWriter(mesh: StandaloneMesh): Writer {
  return {
    async apply(yaml) {
      for (const { object } of parseObjects("check", yaml)) await applyObject(mesh.client, object);
    },
    async remove(yaml) {
      for (const { object } of parseObjects("check", yaml))
        await deleteObject(mesh.client, object).catch((error: unknown) => {
          if (FairleadError.from(error).code !== "not-found") throw error;
        });
    },
  };
}
