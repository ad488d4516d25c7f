/** `fairlead ca status|rotate-root`: what the mesh's certificates come from, and another root without an outage. */
import { type Command, Option } from "commander";
import { type RotateFlags, rotateRoot } from "./ca/rotate-root.ts";
import { type CaStatusFlags, caStatus } from "./ca/status.ts";
import type { Io } from "./command.ts";
import { outputOption } from "./output.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const ca = program
    .command("ca")
    .summary("Show the certificate authority, and rotate its root without an outage")
    .addHelpText("after", "\nExamples:\n  fairlead ca status\n  fairlead ca rotate-root\n");
  const output = (of: readonly string[]) =>
    new Option("-o, --output <format>", "how to print").choices([...of]).default(of[0]);
  ca.command("status")
    .summary("Show the roots, the signer, and which proxies believe what")
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .option("--address <addr>", "monitoring port of a control plane")
    .addOption(outputOption("table"))
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead ca status\n  fairlead ca status --address localhost:15014 -o json   # a port-forward to a control plane\n",
    )
    .action(async (flags: CaStatusFlags) => exit(await caStatus(flags, io)));
  ca.command("rotate-root")
    .summary("Give the mesh a new root: believed by all, then used by all, then alone")
    .description(
      "The control plane goes through the steps (trust, reissue, settle, done) and waits at each until every connected proxy has followed. Whoever is interrupted finds it where it was; the rotation goes on without this command. A CA that comes from `cacerts` is rotated by replacing it there: the same steps follow.",
    )
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-i, --istioNamespace <namespace>", "namespace of the control plane", "istio-system")
    .option("--resume", "follow a rotation that is under way, instead of beginning one")
    .option("--rollback", "go back to the old root, from wherever it is")
    .option(
      "--ignore <proxy...>",
      "do not wait for these: proxies as pod.namespace, all of an account as namespace/account; implies --resume",
    )
    .option("--no-wait", "return as soon as the control plane has taken it up")
    .option("--timeout <duration>", "how long to wait; the rotation goes on after it", "30m")
    .addOption(output(["text", "json"]))
    .addHelpText(
      "after",
      [
        "\nExamples:",
        "  fairlead ca rotate-root                              # begins, and waits until the old root is gone",
        "  fairlead ca rotate-root --resume                     # looks again at one that was left",
        "  fairlead ca rotate-root --rollback",
        "  fairlead ca rotate-root --ignore spire-7d9f.prod     # one that has its certificates from elsewhere",
        "  fairlead ca rotate-root --ignore prod/spire          # all of an account, whatever they call themselves",
        "",
      ].join("\n"),
    )
    .action(async (flags: RotateFlags) => exit(await rotateRoot(flags, io)));
}
