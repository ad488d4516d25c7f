/** Text of Prometheus in; its figures by name and labels out. */

export interface Figures {
  /** `label="value"` as written; the first of that name where absent. */
  get(name: string, label?: string): number | undefined;
  /** Over all labels. */
  sum(name: string): number;
}

export function readFigures(text: string): Figures {
  const found = new Map<string, [labels: string, value: number][]>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})? (\S+)/.exec(line) ?? [];
    if (name === undefined || !Number.isFinite(Number(value))) continue;
    const own = found.get(name) ?? [];
    found.set(name, own);
    own.push([labels, Number(value)]);
  }
  return {
    get: (name, label = "") => found.get(name)?.find(([labels]) => labels.includes(label))?.[1],
    sum: (name) => (found.get(name) ?? []).reduce((sum, [, value]) => sum + value, 0),
  };
}
