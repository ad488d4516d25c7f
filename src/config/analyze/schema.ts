/** istiod's own verdict on every object, as messages. */
import { istioKinds, type Kind } from "../../model/index.ts";
import { validationSteps } from "../validate/validate-config.ts";
import type { Analyser, Analysis } from "./analyser.ts";

export const schemaAnalysers: readonly Analyser[] = istioKinds.map((kind) => ({
  name: `schema.ValidationAnalyzer.${kind.kind}`,
  needsCluster: false,
  run: (analysis) => checkKind(kind, analysis),
}));

function* checkKind(kind: Kind, { objects, options, report }: Analysis): Generator<undefined, void> {
  for (const object of objects.of(kind)) {
    // Istio hands over neither labels nor annotations here.
    const { name, namespace } = object.meta;
    const { errors, warnings } = yield* validationSteps(
      kind,
      { kind: kind.kind, meta: { name, namespace }, spec: object.spec },
      options,
    );
    for (const { message } of errors) report(object, "IST0106", `Schema validation error: ${message}`);
    for (const { message } of warnings) {
      const [code, text] = precise(message);
      report(object, code, text);
    }
    yield;
  }
}

/** Two warnings have codes of their own. */
function precise(message: string): readonly [code: string, text: string] {
  const own = message.replace(/^virtualService/, "VirtualService");
  if (/^VirtualService rule .* match .* is not used \(duplicate/s.test(own)) return ["IST0131", `${own}.`];
  if (/^VirtualService rule .* not used \(/s.test(own)) return ["IST0130", `${own}.`];
  return ["IST0133", `Schema validation warning: ${message}`];
}
