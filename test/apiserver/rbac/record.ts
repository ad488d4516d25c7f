/** `node test/apiserver/rbac/record.ts KUBECONFIG`: asks a real kube-apiserver (with the clusterrole-aggregation controller) and writes answers.json. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { askAll } from "./ask.ts";

const [, , kubeconfig = ""] = process.argv;
const answers = await askAll(readFileSync(kubeconfig, "utf8"));
const generated = "by `node test/apiserver/rbac/record.ts KUBECONFIG`, against kube-apiserver 1.34.4; never edited";
writeFileSync(
  join(import.meta.dirname, "answers.json"),
  `${JSON.stringify({ generated, ...answers }, undefined, 2)}\n`,
);
