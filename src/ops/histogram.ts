/** Observations in; Prometheus' text of a histogram out. A fleet makes thousands at once, so one costs a look-up and three additions. */

export interface Histogram {
  /** Who observes often passes the same object of labels each time: it is known again without being read. */
  observe(labels: Readonly<Record<string, string>>, value: number): void;
  text(): string;
}

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Names of its labels; others are dropped. */
  readonly labels: readonly string[];
  /** Upper bounds, in order. */
  readonly buckets: readonly number[];
}

interface Series {
  readonly labels: string;
  /** One for each bucket, and one for what is above all of them. */
  readonly counts: number[];
  sum: number;
}

export function createHistogram({ name, help, labels: names, buckets }: HistogramOptions): Histogram {
  const byLabels = new Map<string, Series>();
  const known = new WeakMap<object, Series>();

  function seriesOf(labels: Readonly<Record<string, string>>): Series {
    const text = labelText(names, labels);
    const found = byLabels.get(text) ?? { labels: text, counts: new Array(buckets.length + 1).fill(0), sum: 0 };
    byLabels.set(text, found);
    known.set(labels, found);
    return found;
  }

  function* lines({ labels, counts, sum }: Series): Generator<string> {
    let count = 0;
    for (const [at, inBucket] of counts.entries()) {
      count += inBucket;
      yield `${name}_bucket{le="${buckets[at] ?? "+Inf"}"${labels === "" ? "" : `,${labels}`}} ${count}`;
    }
    const braced = labels === "" ? "" : `{${labels}}`;
    yield `${name}_sum${braced} ${sum}`;
    yield `${name}_count${braced} ${count}`;
  }

  return {
    observe(labels, value) {
      const series = known.get(labels) ?? seriesOf(labels);
      let at = 0;
      while (at < buckets.length && value > (buckets[at] ?? 0)) at++;
      series.counts[at] = (series.counts[at] ?? 0) + 1;
      series.sum += value;
    },
    text: () =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...byLabels.values().flatMap(lines), ""].join("\n"),
  };
}

function labelText(names: readonly string[], labels: Readonly<Record<string, string>>): string {
  return names.flatMap((name) => (labels[name] === undefined ? [] : [`${name}="${escaped(labels[name])}"`])).join();
}

/** As the text format wants it. */
const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
