/** The value of `--fail-on` in; the risks that are meant out. */
import { type Risk, risks } from "../../explain/index.ts";
import { FairleadError } from "../../lib/index.ts";

export function parseRisks(text: string): readonly Risk[] {
  return text.split(",").map((word) => {
    const risk = risks.find((one) => one === word.trim());
    if (!risk)
      throw new FairleadError("usage", `--fail-on does not know ${JSON.stringify(word)}`, {
        hint: `there is ${risks.join(", ")}`,
      });
    return risk;
  });
}
