/** Kubernetes quantities (`100m`, `1.5Gi`, `2e3`): text in, the canonical text that Kubernetes prints for it out. */

type Form = "decimal" | "binary" | "exponent";

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const binarySuffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

const shape = /^([+-]?)(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,3})?$/;
const nano = 10n ** 9n;
/** What the largest quantity holds: amounts beyond are cut to it. */
const largest = 2n ** 63n - 1n;

/** Undefined for what is no quantity. */
export function canonicalQuantity(text: string): string | undefined {
  const match = shape.exec(text);
  if (!match || text.length > 128) return undefined;
  const [, sign = "", digits = "", suffix = ""] = match;
  const { form, size } = scaleOf(suffix);
  const [whole = "", fraction = ""] = digits.split(".");
  const units = BigInt(`${whole}${fraction}` || "0");
  const denominator = 10n ** BigInt(fraction.length) * size.divisor;
  // Below the smallest unit Kubernetes rounds away from zero.
  const nanos = roundUp(units * size.factor * nano, denominator);
  if (nanos === 0n) return "0";
  return `${sign === "-" ? "-" : ""}${print(nanos / nano > largest ? largest * nano : nanos, form)}`;
}

function scaleOf(suffix: string): { readonly form: Form; readonly size: { factor: bigint; divisor: bigint } } {
  const binary = binarySuffixes.indexOf(suffix);
  if (binary >= 0) return { form: "binary", size: { factor: 1024n ** BigInt(binary + 1), divisor: 1n } };
  const power = decimalSuffixes.get(suffix);
  const exponent = power ?? Number(suffix.slice(1));
  return {
    form: power === undefined ? "exponent" : "decimal",
    size: { factor: 10n ** BigInt(Math.max(exponent, 0)), divisor: 10n ** BigInt(Math.max(-exponent, 0)) },
  };
}

function roundUp(amount: bigint, denominator: bigint): bigint {
  return (amount + denominator - 1n) / denominator;
}

function print(nanos: bigint, form: Form): string {
  const whole = nanos / nano;
  // Amounts that are no multiple of 1024, or not whole, have no binary form.
  if (form === "binary" && nanos % nano === 0n && whole >= 1024n) return printBinary(whole);
  let [mantissa, exponent] = [nanos, -9];
  while (mantissa % 1000n === 0n && exponent < 18) {
    mantissa /= 1000n;
    exponent += 3;
  }
  if (form === "exponent") return exponent === 0 ? String(mantissa) : `${mantissa}e${exponent}`;
  const [suffix = ""] = [...decimalSuffixes].find(([, power]) => power === exponent) ?? [];
  return `${mantissa}${suffix}`;
}

function printBinary(whole: bigint): string {
  let [mantissa, step] = [whole, 0];
  while (mantissa % 1024n === 0n && step < binarySuffixes.length) {
    mantissa /= 1024n;
    step++;
  }
  return step === 0 ? String(mantissa) : `${mantissa}${binarySuffixes[step - 1]}`;
}
