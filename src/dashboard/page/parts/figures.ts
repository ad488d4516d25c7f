/** Figures in, as few letters as tell them out. */

export function rate(perSecond: number): string {
  if (perSecond === 0) return "0/s";
  if (perSecond < 0.1) return `${(perSecond * 60).toFixed(1)}/min`;
  return `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString()}/s`;
}

export const share = (value: number | undefined): string =>
  value === undefined
    ? ""
    : value === 0
      ? "0 %"
      : value < 0.001
        ? "< 0.1 %"
        : `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;

export const millis = (value: number | undefined): string =>
  value === undefined ? "" : value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value).toLocaleString()} ms`;

/** What was seen of encryption, in words. */
export const lockWords: Readonly<Record<string, string>> = {
  all: "mutual TLS",
  mixed: "partly mutual TLS",
  none: "no mutual TLS",
  unknown: "not known",
};
