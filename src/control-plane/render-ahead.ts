/**
 * Proxies that are likely to come in; what they share with others of their namespace, and mostly with all, made and held
 * for a while out. After a restart a whole fleet comes back at once: it finds what it shares, instead of waiting for it.
 */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Logger } from "../lib/index.ts";
import type { Proxy, ProxyClass } from "../model/index.ts";
import type { Renderer } from "../render/index.ts";
import type { ControlledSource } from "./resource-source.ts";

export interface RenderAheadOptions {
  readonly proxies: () => Iterable<Proxy>;
  classOf(proxy: Proxy): ProxyClass;
  readonly resources: Pick<ControlledSource, "ahead" | "nodes">;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** For so long who wants to connect is kept waiting. The rest goes on until somebody comes: they say what they need. */
  readonly waitMs?: number;
  /** Who was connected comes back within this time, and holds what it shares from then on. */
  readonly holdMs?: number;
}

/** Of more than these, what they share with all is made too, and their own when they come. */
const maxNamespaces = 1000;

/** Resolves when all is made, or time is up. */
export async function renderAhead(options: RenderAheadOptions): Promise<void> {
  const { signal, waitMs = 1500 } = options;
  const startedMs = performance.now();
  const mayBegin = (): boolean => !signal.aborted && options.resources.nodes === 0;
  const work = renderEach(options, mayBegin).then((made) => {
    options.log.debug("rendered ahead", { namespaces: made.length, ms: Math.round(performance.now() - startedMs) });
    void letGo(made, options);
  });
  const timeUp = Promise.withResolvers<void>();
  const waiting = setTimeout(timeUp.resolve, waitMs);
  await Promise.race([work, timeUp.promise]);
  clearTimeout(waiting);
}

async function renderEach(
  { proxies, classOf, resources, log }: RenderAheadOptions,
  mayBegin: () => boolean,
): Promise<readonly Renderer[]> {
  const made: Renderer[] = [];
  for (const proxy of proxies()) {
    if (made.length >= maxNamespaces || !mayBegin()) break;
    try {
      made.push(await resources.ahead(classOf(proxy)));
    } catch (error) {
      // Whoever connects is told of it then.
      log.debug("not rendered ahead", { namespace: proxy.namespace, cause: String(error) });
    }
  }
  return made;
}

/** One at a time: hundreds of namespaces that go in one turn would be a long one. */
async function letGo(renderers: Iterable<Renderer>, { signal, holdMs = 120_000 }: RenderAheadOptions): Promise<void> {
  if (!(await isAfter(holdMs, signal))) return;
  for (const renderer of renderers) {
    renderer.dispose();
    await nextTurn();
  }
}

/** False where it is stopped before. */
const isAfter = (ms: number, signal: AbortSignal): Promise<boolean> =>
  pause(ms, true, { signal, ref: false }).catch(() => false);
