/** A PromQL query in; the metrics and labels that it names out. As much of the language as dashboards have. */

export interface QueryNames {
  readonly metrics: readonly string[];
  /** In matchers, in groupings, and of `label_values`. */
  readonly labels: readonly string[];
  /** Labels that the outcome still has, where the outermost operator is an aggregation. */
  readonly grouped: readonly string[] | undefined;
}

const keywords = new Set("and or unless offset bool atan2 inf nan".split(" "));
const aggregations = "sum|min|max|avg|count|stddev|topk|bottomk|quantile|group";

export function readQuery(query: string): QueryNames {
  const labels: string[] = [];
  const namesOf = (list: string): void => void labels.push(...(list.match(/\w+/g) ?? []));
  const bare = query
    .replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, "''")
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/(label_values\(.*),\s*(\w+)\s*\)/g, (_, before: string, label: string) => {
      namesOf(label);
      return `${before})`;
    })
    .replaceAll(/\{([^}]*)\}/g, (_, matchers: string) => {
      namesOf(matchers.replaceAll("''", ""));
      return "";
    })
    .replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g, (_, list: string) => {
      namesOf(list);
      return "";
    });
  const words = [...bare.matchAll(/(?<![\w.:])([A-Za-z_:][\w:]*)\s*(\(?)/g)];
  return {
    metrics: words.filter(([, word = "", call]) => call === "" && !keywords.has(word)).map(([, word = ""]) => word),
    labels,
    grouped: groupedBy(query),
  };
}

const aggregation = new RegExp(`^(?:histogram_quantile\\([\\d.]+, *)?(?:${aggregations})\\b(?: *by *\\(([^)]*)\\))?`);

function groupedBy(query: string): readonly string[] | undefined {
  const found = aggregation.exec(query);
  return found ? ((found[1] ?? "").match(/\w+/g) ?? []) : undefined;
}
