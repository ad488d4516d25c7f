/**
 * Classes of proxies that are not connected in; what they would be sent, made in slices, out. For whom it is made disposes of
 * it. Proxies that are connected wait for none of it.
 */
import type { Graph } from "../../collections/index.ts";
import type { Proxy, ProxyClass } from "../../model/index.ts";
import type { Renderer, Rendering } from "../../render/index.ts";
import { createSlices, type Slices, type SlicesOptions } from "../slices.ts";

/** What is made for a proxy that may come. */
export interface Expected {
  /** Lets go of it. */
  dispose(): void;
}

export interface Looks {
  /** For whoever looks at a class without a proxy. */
  look(proxyClass: ProxyClass): Promise<Renderer>;
  /** For a proxy that may come; what its class follows from is kept too. */
  ahead(proxy: Proxy): Promise<Expected>;
}

export interface LooksOptions {
  readonly graph: Pick<Graph, "hold">;
  readonly rendering: Pick<Rendering, "renderer">;
  classOf(proxy: Proxy): ProxyClass;
  readonly clock: SlicesOptions;
}

export function createLooks({ graph, rendering, classOf, clock }: LooksOptions): Looks {
  const [readers, expected] = [createSlices(clock), createSlices(clock)];

  async function lookIn(slices: Slices, proxyClass: ProxyClass): Promise<Renderer> {
    const renderer = rendering.renderer(proxyClass);
    try {
      await slices.run(renderer.steps());
      return renderer;
    } catch (error) {
      renderer.dispose();
      throw error;
    }
  }

  return {
    look: (proxyClass) => lookIn(readers, proxyClass),
    async ahead(proxy) {
      const hold = graph.hold();
      try {
        const renderer = await lookIn(
          expected,
          hold.run(() => classOf(proxy)),
        );
        return {
          dispose() {
            hold.release();
            renderer.dispose();
          },
        };
      } catch (error) {
        hold.release();
        throw error;
      }
    },
  };
}
