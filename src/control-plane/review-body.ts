/** The body of an admission request in; the verdict, and what the object refers to, out: all that needs no mesh. */
import { type Reviewed, reviewAdmissionText } from "../config/index.ts";
import { type Referenced, referencedBy } from "./references.ts";

export interface BodyReview extends Reviewed {
  readonly referenced: Referenced | undefined;
}

export async function reviewBody(body: string): Promise<BodyReview> {
  // Envoy's types take a tenth of a second to load: not before there is an EnvoyFilter.
  if (!body.includes("EnvoyFilter")) return reviewWith(body, {});
  const { loadPatchChecker } = await import("../render/index.ts");
  return reviewWith(body, { patches: await loadPatchChecker() });
}

function reviewWith(body: string, options: Parameters<typeof reviewAdmissionText>[1]): BodyReview {
  let referenced: Referenced | undefined;
  const references = (object: unknown): readonly string[] => {
    referenced = referencedBy(object);
    return [];
  };
  return { ...reviewAdmissionText(body, { ...options, references }), referenced };
}
