/**
 * A user's template in; a template out that lays its YAML over the Pod. `{{ … }}` may stand inside a scalar: the YAML is
 * read first and the values are put into the scalars afterwards, so that no value can add to the structure.
 */
import { FairleadError, isRecord, parseYaml } from "../../lib/index.ts";
import { initImage, proxyImage } from "../image.ts";
import type { ValueType } from "../kube/types.ts";
import { podType } from "../kube/workload-types.ts";
import { annotationsOf, type Fields, labelsOf, metadataOf, specOf } from "../pod.ts";
import { evaluate } from "./expression.ts";
import type { Template, TemplateInput } from "./input.ts";

/** Private characters, which mark the place of an expression while the YAML is read. */
const [open, close] = ["\uE000", "\uE001"];
const controlFlow = /^(if|else|end|range|with|define|template|block|break|continue)\b|^\$/;

/** A template that cannot be used is an error to the Pods that ask for it, and to no one else. */
export function customTemplate(name: string, text: string): Template {
  let parsed: Parsed | undefined;
  return (input) => {
    try {
      parsed ??= parse(text);
      const data = templateData(input);
      const values = parsed.expressions.map((expression) => evaluate(expression, data));
      const filled = fill({ kind: "object", type: podType }, parsed.overlay, values);
      return isRecord(filled) ? filled : {};
    } catch (error) {
      const { message, hint } = FairleadError.from(error, "invalid");
      throw new FairleadError("invalid", `template ${name}: ${message}`, hint === undefined ? {} : { hint });
    }
  };
}

interface Parsed {
  readonly overlay: Fields;
  readonly expressions: readonly string[];
}

function parse(text: string): Parsed {
  if (text.includes(open) || text.includes(close))
    throw new FairleadError("invalid", "it has characters that are reserved");
  const expressions: string[] = [];
  const marked = text.replace(
    /(\s*)\{\{(-?)((?:"(?:[^"\\]|\\.)*"|`[^`]*`|[^"`}]|\}(?!\}))*?)(-?)\}\}(\s*)/g,
    (_, before, trimLeft, source: string, trimRight, after) => {
      const expression = source.trim();
      const comment = expression.startsWith("/*");
      if (controlFlow.test(expression))
        throw new FairleadError("invalid", `{{ ${expression} }} is not supported: a template is data`, {
          hint: "write what is common as plain YAML, and one template per variant, chosen by inject.istio.io/templates",
        });
      const place = comment ? "" : `${open}${expressions.push(expression) - 1}${close}`;
      return `${trimLeft ? "" : before}${place}${trimRight ? "" : after}`;
    },
  );
  if (marked.includes("{{")) throw new FairleadError("invalid", "an expression has no end");
  const [overlay = {}] = parseYaml(marked);
  if (!isRecord(overlay)) throw new FairleadError("invalid", "it is not an object with metadata and spec");
  return { overlay, expressions };
}

/** Numbers and booleans are made where the Pod's type has them: YAML saw a text there. */
function fill(type: ValueType | undefined, value: unknown, values: readonly string[]): unknown {
  if (typeof value === "string") return value.includes(open) ? scalar(type, filled(value, values)) : value;
  if (Array.isArray(value))
    return value.map((item) => fill(type?.kind === "list" ? type.items : undefined, item, values));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    const name = filled(key, values);
    return [name, fill(innerType(type, name), inner, values)] as const;
  });
  return Object.fromEntries(entries);
}

function innerType(type: ValueType | undefined, name: string): ValueType | undefined {
  if (type?.kind === "map") return type.values;
  return type?.kind === "object" ? type.type().fields.get(name)?.value : undefined;
}

const filled = (text: string, values: readonly string[]): string =>
  text.replace(new RegExp(`${open}(\\d+)${close}`, "g"), (_, i) => values[Number(i)] ?? "");

function scalar(type: ValueType | undefined, text: string): unknown {
  const kind = type?.kind === "scalar" ? type.scalar : "string";
  if ((kind === "integer" || kind === "number" || kind === "int-or-string") && /^-?\d+$/.test(text))
    return Number(text);
  return kind === "boolean" && (text === "true" || text === "false") ? text === "true" : text;
}

/** What expressions may read, by the names that Istio's templates have for it. */
function templateData(input: TemplateInput): Fields {
  const { pod, owner, values, proxyConfig } = input;
  const { name, namespace, generateName } = metadataOf(pod);
  const annotations = annotationsOf(pod);
  return {
    TypeMeta: { APIVersion: owner.apiVersion, Kind: owner.kind },
    DeploymentMeta: { Name: owner.name, Namespace: owner.namespace },
    ObjectMeta: {
      Name: name,
      Namespace: namespace,
      GenerateName: generateName,
      Labels: labelsOf(pod),
      Annotations: annotations,
    },
    Spec: specOf(pod),
    ProxyConfig: proxyConfig,
    MeshConfig: input.meshConfig,
    Values: input.rawValues,
    Revision: input.revision,
    NativeSidecars: input.nativeSidecars,
    ProxyImage: proxyImage(values, proxyConfig, annotations),
    ProxyInitImage: initImage(values, annotations),
    ProxyUID: input.proxyUser,
    ProxyGID: input.proxyGroup,
    CompliancePolicy: input.compliancePolicy,
  };
}
