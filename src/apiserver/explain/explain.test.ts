/** Every field of Istio's kinds has a sentence, over the document that kubectl reads. */
import { expect, test } from "vitest";
import { crdFor } from "../../config/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { kinds } from "../../model/index.ts";
import { kindsOfDefinition } from "../custom-kind.ts";
import { createDefinitions } from "../definitions.ts";
import { createOpenApi } from "../openapi.ts";

type Node = Readonly<Record<string, unknown>>;
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

/** Paths of fields without a sentence. */
function silent(schema: Node, path: string): readonly string[] {
  const properties = isNode(schema.properties) ? Object.entries(schema.properties) : [];
  const inner = [schema.items, schema.additionalProperties].filter(isNode);
  return [
    ...inner.flatMap((node) => silent(node, path)),
    ...properties.flatMap(([name, node]) => {
      if (!isNode(node) || name === "metadata") return [];
      const here = `${path}.${name}`;
      return [...(typeof node.description === "string" ? [] : [here]), ...silent(node, here)];
    }),
  ];
}

const istio = kinds.filter(({ group }) => group.endsWith("istio.io"));

test.each(istio.map((kind) => [kind.kind, kind] as const))("%s", (_name, kind) => {
  const served = kindsOfDefinition(crdFor(kind) as unknown as KubeObject);
  const openApi = createOpenApi(served, createDefinitions());
  for (const { group, version } of served) {
    const document = openApi.document(`apis/${group}/${version}`) as { components: { schemas: Node } };
    const schema = Object.entries(document.components.schemas).find(([name]) => name.endsWith(`.${kind.kind}`))?.[1];
    expect(isNode(schema) && typeof schema.description).toBe("string");
    expect(isNode(schema) ? silent(schema, kind.kind) : []).toEqual([]);
  }
});
