/** The words of the installation in; the files of a Helm chart that makes the same objects out. */
import { fairleadVersion, istioVersion } from "../model/index.ts";
import { helmHelpers, helmTemplate } from "./helm.ts";
import { customResourceDefinitions, parts } from "./manifest.ts";
import { namedExpressions } from "./names.ts";
import { deploymentNames } from "./objects/deployment.ts";
import { jsonSchemaOf, type ValueNode, valuesSchema } from "./values.ts";

export interface ChartFile {
  readonly path: string;
  readonly content: string;
}

export function chartFiles(printYaml: (data: unknown) => string): readonly ChartFile[] {
  const chart = {
    apiVersion: "v2",
    name: "fairlead",
    description: "Fairlead, a service-mesh control plane with Istio's API",
    type: "application",
    version: fairleadVersion,
    appVersion: fairleadVersion,
    kubeVersion: ">=1.28.0-0",
    keywords: ["service mesh", "istio", "envoy"],
    annotations: { "fairlead.dev/stands-in-for": `Istio ${istioVersion}` },
  };
  const schema = { $schema: "https://json-schema.org/draft-07/schema#", ...jsonSchemaOf(valuesSchema) };
  return [
    { path: "Chart.yaml", content: printYaml(chart) },
    { path: "values.yaml", content: valuesYaml(printYaml) },
    { path: "values.schema.json", content: `${JSON.stringify(schema, null, 2)}\n` },
    { path: "templates/NOTES.txt", content: notes },
    { path: "templates/_helpers.tpl", content: helmHelpers([...namedExpressions, ...deploymentNames]) },
    ...parts.map(([name, objects]) => ({
      path: `templates/${name}.yaml`,
      content: objects.map((object) => `---\n${helmTemplate(object)}`).join(""),
    })),
    // Helm installs these where they are missing and never touches those that are there.
    ...customResourceDefinitions().map((crd) => ({
      path: `crds/${crd.metadata.name}.yaml`,
      content: printYaml(crd),
    })),
  ];
}

const notes = `Fairlead is installed in {{ .Release.Namespace }}.

Workloads join when their Pods are made anew in a namespace that asks for it:
  kubectl label namespace default {{ if and .Values.revision (ne .Values.revision "default") }}istio.io/rev={{ .Values.revision }}{{ else }}istio-injection=enabled{{ end }}
  kubectl -n default rollout restart deployment
`;

/** Every value with its default and a line of what it does. */
export function valuesYaml(printYaml: (data: unknown) => string): string {
  return Object.entries(valuesSchema.fields ?? {})
    .map(([name, node]) => lines(name, node, 0, printYaml))
    .join("\n");
}

function lines(name: string, node: ValueNode, depth: number, printYaml: (data: unknown) => string): string {
  const pad = "  ".repeat(depth);
  const about = `${pad}# ${node.about}\n`;
  if (!node.fields) {
    const choices = node.choices ? `${pad}# One of ${node.choices.join(", ")}.\n` : "";
    const printed = printYaml({ [name]: node.default })
      .trimEnd()
      .split("\n");
    return `${about}${choices}${printed.map((line) => `${pad}${line}\n`).join("")}`;
  }
  const inner = Object.entries(node.fields).map(([field, value]) => lines(field, value, depth + 1, printYaml));
  return `${about}${pad}${name}:\n${inner.join("")}`;
}
