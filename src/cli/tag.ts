/** `fairlead tag set|list|remove|generate`: other names for revisions, which namespaces select them by. */
import type { Command } from "commander";
import { completeValues, deactivated, defaultValidatorObject, tagObjects } from "../install/index.ts";
import { type KubeClient, kubeKinds } from "../kube/index.ts";
import { FairleadError, readList, readRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { InstallAccessFlags } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { tellOfNoDefault } from "./install/default-revision.ts";
import { accessOptions, withClient } from "./install/shared.ts";
import { applyObject } from "./objects.ts";
import { outputOption, parseOutput } from "./output.ts";
import { printSortedYaml } from "./print.ts";
import { printTable } from "./table.ts";

const { mutatingWebhooks, services, validatingWebhooks } = kubeKinds;
const unnamed = "istio-sidecar-injector";

interface TagFlags extends InstallAccessFlags {
  readonly revision: string;
  readonly istioNamespace: string;
  readonly overwrite?: boolean;
}

interface ListFlags extends InstallAccessFlags {
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const tag = program
    .command("tag")
    .summary("Give a revision another name that namespaces select it by")
    .addHelpText("after", "\nExamples:\n  fairlead tag set prod --revision canary\n  fairlead tag list\n");
  const revisionOptions = (command: Command): Command =>
    command
      .argument("<tag>", "the name")
      .requiredOption("-r, --revision <revision>", "the revision that it means")
      .option("-i, --istioNamespace <namespace>", "namespace of the control plane", "istio-system");
  accessOptions(revisionOptions(tag.command("set")))
    .option("--overwrite", "also when it means another revision already")
    .addHelpText("after", "\nExample:\n  fairlead tag set prod --revision canary\n")
    .action(async (name: string, flags: TagFlags) =>
      exit(await withClient(flags, io, (client) => setTag(client, name, flags, io))),
    );
  revisionOptions(tag.command("generate").description("Prints the objects instead of applying them."))
    .addHelpText("after", "\nExample:\n  fairlead tag generate prod --revision canary | kubectl apply -f -\n")
    .action((name: string, flags: TagFlags) => {
      io.out(tagObjects(name, flags.revision, flags.istioNamespace).map(printSortedYaml).join("---\n"));
      exit(0);
    });
  accessOptions(tag.command("list"))
    .addOption(outputOption("table"))
    .addHelpText("after", "\nExamples:\n  fairlead tag list\n  fairlead tag list -o json\n")
    .action(async (flags: ListFlags) => exit(await withClient(flags, io, (client) => listTags(client, flags, io))));
  const remove = tag.command("remove").argument("<tag>", "the name");
  accessOptions(remove.addHelpText("after", "\nExample:\n  fairlead tag remove prod\n")).action(
    async (name: string, flags: InstallAccessFlags) =>
      exit(await withClient(flags, io, (client) => removeTag(client, name, io))),
  );
}

const nameOf = (tag: string): string => `istio-revision-tag-${tag}`;

async function setTag(client: KubeClient, tag: string, flags: TagFlags, io: Io): Promise<number> {
  const { revision } = flags;
  const objects = tagObjects(tag, revision, flags.istioNamespace);
  const injector = revision === "default" ? unnamed : `${unnamed}-${revision}`;
  if (!(await client.find(mutatingWebhooks, { name: injector })))
    throw new FairleadError("not-found", `there is no revision ${revision}`, {
      hint: "fairlead install --revision NAME makes one",
    });
  const before = (await client.find(mutatingWebhooks, { name: nameOf(tag) }))?.metadata.labels?.["istio.io/rev"];
  if (before !== undefined && before !== revision && flags.overwrite !== true)
    throw new FairleadError("already-exists", `${tag} means revision ${before}`, { hint: "--overwrite changes that" });
  for (const object of objects) await applyObject(client, object);
  if (tag === "default") await makeDefault(client, flags);
  const labels = tag === "default" ? "istio-injection=enabled" : `istio.io/rev=${tag}`;
  io.err(`${tag} means revision ${revision}; label namespaces with ${labels}\n`);
  return 0;
}

/** As istioctl: the unnamed revision's own configuration stays, and selects nothing while the tag stands in for it. */
async function makeDefault(client: KubeClient, { revision, istioNamespace }: TagFlags): Promise<void> {
  const own = await client.find(mutatingWebhooks, { name: unnamed });
  if (own) await client.update(mutatingWebhooks, deactivated(own));
  const validator = defaultValidatorObject(revision, istioNamespace);
  const before = await client.find(validatingWebhooks, { name: validator.metadata.name });
  // Whether it may refuse is the control plane's to say, and stays as it was.
  const [first] = readList(readRecord(before).webhooks).map(readRecord);
  await applyObject(client, withFailurePolicy(validator, first?.failurePolicy));
}

function withFailurePolicy(validator: KubeObject, failurePolicy: unknown): KubeObject {
  if (failurePolicy === undefined) return validator;
  const webhooks = readList(readRecord(validator).webhooks).map((webhook) => ({
    ...readRecord(webhook),
    failurePolicy,
  }));
  return { ...validator, ...{ webhooks } };
}

async function listTags(client: KubeClient, { output }: ListFlags, io: Io): Promise<number> {
  const { items } = await client.list(mutatingWebhooks, { labelSelector: "istio.io/tag" });
  const tags = items.map(({ metadata: { labels } }) => ({
    ...{ tag: labels?.["istio.io/tag"] ?? "", revision: labels?.["istio.io/rev"] ?? "" },
  }));
  const rows = tags.map(({ tag, revision }) => [tag, revision]);
  if (rows.length === 0) io.err("there are no tags\n");
  const forms = {
    plain: () => (rows.length === 0 ? "" : printTable(["TAG", "REVISION"], rows)),
    data: () => tags,
    names: () => tags.map(({ tag }) => tag),
  };
  io.out(parseOutput(output, "table")(forms));
  return 0;
}

async function removeTag(client: KubeClient, tag: string, io: Io): Promise<number> {
  if (tag === "") throw new FairleadError("usage", "say which tag to remove");
  completeValues("default", [{ revisionTags: [tag] }]);
  await client.delete(mutatingWebhooks, { name: nameOf(tag) });
  const { items } = await client.list(services, { labelSelector: `istio.io/tag=${tag}` });
  for (const { metadata } of items) await client.delete(services, metadata);
  io.err(`${tag} is no tag any more\n`);
  if (tag === "default") await tellOfNoDefault(client, (text) => io.err(`${text}\n`));
  return 0;
}
