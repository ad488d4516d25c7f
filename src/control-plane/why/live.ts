/** A running mesh in; the read that says what becomes of a request in it out. */
import { createDecoded, possibilities } from "../../explain/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { Proxy } from "../../model/index.ts";
import type { MeshReads, Mistake, WhyQuestion } from "../../read-api/index.ts";
import type { Renderer } from "../../render/index.ts";
import { politely } from "../politely.ts";
import { answerOf } from "./answer.ts";
import { explainedName } from "./explained-mesh.ts";
import { type ConnectedProxies, connectedSteps, createLiveMesh, type LiveInputs, Unmade } from "./live-mesh.ts";
import type { Sources } from "./provenance.ts";
import { type Ask, askOf } from "./question.ts";

export interface LiveWhyInputs extends LiveInputs {
  /** Of `Kind/namespace/name`, as it was written. */
  objectOf(name: string): Readonly<{ metadata: { readonly resourceVersion?: string } }> | undefined;
}

/** Proxies that are not connected here and are met in one question; each is rendered. */
const maxUnconnected = 16;
/** Questions that are being answered at once: each of them may have to render. */
const maxAtOnce = 8;
/** For how long what was decoded is kept for the next question. */
const keptMs = 60_000;

export function createLiveWhy(inputs: LiveWhyInputs): MeshReads["why"] {
  const decoded = createDecoded();
  let forgets: NodeJS.Timeout | undefined;
  let running = 0;

  function explained(ask: Ask, connected: ConnectedProxies, made: ReadonlyMap<string, Renderer>) {
    const explained = createLiveMesh(inputs, connected, made, decoded);
    const asked = ask(explained);
    const found = possibilities(explained.world, asked.departure);
    const sources: Sources = { causes: explained.causes, locate, objectOf: inputs.objectOf };
    return answerOf({
      request: asked.text,
      ...("logged" in asked ? { logged: asked.logged } : {}),
      possibilities: found,
      assumptions: [...asked.assumptions, ...explained.notes()],
      sources,
    });
  }

  const locate: Sources["locate"] = (object) => {
    const resourceVersion = inputs.objectOf(object)?.metadata.resourceVersion;
    return resourceVersion === undefined ? {} : { resourceVersion };
  };

  async function answer(ask: Ask) {
    const made = new Map<string, Renderer>();
    try {
      for (;;) {
        const connected = await politely(connectedSteps(inputs));
        const missing = attempt(() => explained(ask, connected, made), Unmade);
        if (!(missing instanceof Unmade)) return missing;
        if (made.size === maxUnconnected)
          throw new FairleadError("unavailable", "too many proxies on the way are not connected to this control plane");
        made.set(explainedName(missing.proxy), await render(missing.proxy));
      }
    } finally {
      for (const renderer of made.values()) renderer.dispose();
    }
  }

  const render = (proxy: Proxy): Promise<Renderer> => inputs.resources.look(inputs.stages.classOf(proxy));

  /** Here nothing of the mesh has been looked up. */
  function begin(question: WhyQuestion): Ask {
    if (running >= maxAtOnce) throw new FairleadError("unavailable", "too many ask at once", { hint: "ask again" });
    return askOf(question);
  }

  return async (question) => {
    const ask = attempt(() => begin(question), FairleadError);
    if (ask instanceof FairleadError) return { ...mistakeOf(ask), isOfQuestion: true };
    running++;
    clearTimeout(forgets);
    try {
      return await answer(ask);
    } catch (error) {
      return mistakeOf(error);
    } finally {
      running--;
      forgets = setTimeout(decoded.clear, keptMs).unref();
    }
  };
}

/** What is thrown of that kind is an answer too. */
function attempt<T, E extends Error>(act: () => T, kind: abstract new (...args: never[]) => E): T | E {
  try {
    return act();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
}

/** A fault of ours is not the asker's mistake. */
function mistakeOf(error: unknown): Mistake {
  if (!(error instanceof FairleadError)) throw error;
  const { code, message, hint } = error;
  return { code, error: message, ...(hint === undefined ? {} : { remedy: hint }) };
}
