/** Label selectors in, yes or no for a set of labels out; both the text form of URLs and the object form of specs. */

export interface Requirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  readonly values: readonly string[];
}

/** The `labelSelector` shape of Kubernetes objects. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key?: string;
    readonly operator?: string;
    readonly values?: readonly string[];
  }[];
}

const keyPattern = /^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?\/)?[a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?$/;
const valuePattern = /^([a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?)?$/;

/** `a=b,c!=d,e in (f,g),!h,i`; an error text for what is no selector. */
export function parseLabelSelector(text: string): readonly Requirement[] | { readonly error: string } {
  const out: Requirement[] = [];
  for (const part of splitOutsideParens(text)) {
    const requirement = parseRequirement(part.trim());
    if (!requirement || !keyPattern.test(requirement.key) || !requirement.values.every((v) => valuePattern.test(v)))
      return { error: `unable to parse requirement: ${part.trim()}` };
    out.push(requirement);
  }
  return out;
}

export function matchesRequirements(
  requirements: readonly Requirement[],
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return requirements.every((r) => matchesOne(r, labels && Object.hasOwn(labels, r.key) ? labels[r.key] : undefined));
}

/** No selector matches nothing, an empty one everything, as Kubernetes reads the object form. */
export function matchesSelector(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return selector !== undefined && matchesRequirements(selectorRequirements(selector), labels);
}

function selectorRequirements(selector: LabelSelector): readonly Requirement[] {
  const exact = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]): Requirement => ({ key, operator: "In", values: [value] }),
  );
  const written = (selector.matchExpressions ?? []).map((e): Requirement => {
    const operator = e.operator as Requirement["operator"];
    return { key: e.key ?? "", operator, values: e.values ?? [] };
  });
  return [...exact, ...written];
}

function matchesOne(r: Requirement, value: string | undefined): boolean {
  switch (r.operator) {
    case "In":
      return value !== undefined && r.values.includes(value);
    case "NotIn":
      return value === undefined || !r.values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return value !== undefined && Number(value) > Number(r.values[0]);
    case "Lt":
      return value !== undefined && Number(value) < Number(r.values[0]);
    default:
      return false;
  }
}

function parseRequirement(text: string): Requirement | undefined {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  if (set) {
    const [, key = "", operator, list = ""] = set;
    return { key, operator: operator === "in" ? "In" : "NotIn", values: list.split(",").map((v) => v.trim()) };
  }
  const compared = /^([^=!<>\s]+)\s*(==|!=|=|>|<)\s*(\S*)$/.exec(text);
  if (compared) {
    const [, key = "", operator = "", value = ""] = compared;
    return {
      key,
      operator: operator === "!=" ? "NotIn" : operator === ">" ? "Gt" : operator === "<" ? "Lt" : "In",
      values: [value],
    };
  }
  if (text.startsWith("!")) return { key: text.slice(1).trim(), operator: "DoesNotExist", values: [] };
  return { key: text, operator: "Exists", values: [] };
}

function splitOutsideParens(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === "(") depth++;
    else if (c === ")") depth--;
    else if (c === "," && depth === 0) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  parts.push(text.slice(from));
  return parts.filter((part) => part.trim() !== "");
}
