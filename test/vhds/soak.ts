/**
 * A seed and a number of steps in; what a real Envoy under traffic answered wrongly, and how much it went through, out.
 * Virtual hosts change, move, are refused and come back; listeners go and come; streams are cut anywhere, between a route
 * configuration and its hosts too; the control plane is restarted.
 */
import { open, startEnvoy, until } from "../../src/xds/server/testing-envoy.ts";
import { freePort } from "../free-ports.ts";
import { createRandom, type Random } from "../random.ts";
import { type Cutter, createCutter } from "./cutter.ts";
import { type Admin, createMesh, type Mesh, refusals, type Serving } from "./mesh.ts";
import { startTraffic } from "./traffic.ts";
import { type Host, isBad } from "./world.ts";

export interface SoakResult {
  readonly steps: number;
  readonly changes: number;
  /** How often Envoy's routes were compared with what is wanted. */
  readonly checks: number;
  readonly requests: number;
  readonly cuts: number;
  readonly cutsBeforeHosts: number;
  readonly restarts: number;
  readonly refusals: number;
  /** While nothing that must be refused was wanted. */
  readonly unexpectedRefusals: number;
  readonly wrong: readonly string[];
}

const names = ["80", "8080", "a/b"];
const words = ["*", "*.wild", "pre.*", "a", "b", "c", "d", "e", "f"];

export async function soak(seed: number, steps: number): Promise<SoakResult> {
  const random = createRandom(seed);
  // Two listeners share the first route configuration.
  const ports = new Map<string, readonly number[]>();
  for (const name of names) ports.set(name, name === "80" ? [await freePort(), await freePort()] : [await freePort()]);
  const mesh = createMesh(names, (name) => ports.get(name) ?? []);
  const changer = createChanger(mesh, random);
  for (let i = 0; i < 12; i++) changer.change("good");
  mesh.put();
  let serving = await mesh.serve(0);
  const cutter = await createCutter(serving.port);
  open.push(cutter.close);
  const { admin } = await startEnvoy(cutter.port, "DELTA_GRPC");
  const checker = createChecker(mesh, admin);
  await checker.check("start");
  const traffic = startTraffic(
    names.flatMap((route) =>
      (ports.get(route) ?? []).map((port) => ({
        ...{ route, port },
        states: () => mesh.states(route),
        since: () => checker.since(route),
      })),
    ),
    createRandom(seed + 1),
  );
  let restarts = 0;
  try {
    for (let step = 0; step < steps; step++) {
      const cut = random.whole(100);
      aim(cutter, cut, random);
      for (let i = random.whole(4); i >= 0; i--) {
        changer.change();
        mesh.put();
      }
      if (cut < 8) cutter.cut();
      else if (cut < 12) serving.disconnectAll();
      else if (cut < 16) {
        restarts++;
        serving = await restart(mesh, serving, changer);
      }
      if (random.chance(0.6)) await checker.check(`step ${step} of seed ${seed}`);
    }
    changer.mend();
    mesh.put();
    await checker.check(`the end of seed ${seed}`);
    await until(serving.isAnswered, "all to be answered");
  } finally {
    await traffic.stop();
  }
  const { cuts, beforeHosts } = cutter.counts();
  return {
    ...{ steps, changes: changer.changes(), requests: traffic.requests, cuts, cutsBeforeHosts: beforeHosts, restarts },
    ...checker.counts(),
    wrong: traffic.wrong,
  };
}

/** Before the change is made, so that it meets what is sent of it. */
function aim(cutter: Cutter, cut: number, random: Random): void {
  if (cut >= 60 && cut < 75) cutter.cutBeforeHosts();
  else if (cut >= 75 && cut < 85) cutter.cutAfter(random.whole(3000));
}

async function restart(mesh: Mesh, serving: Serving, changer: Changer): Promise<Serving> {
  await serving.close();
  changer.change();
  mesh.put();
  return mesh.serve(serving.port);
}

interface Changer {
  change(kind?: "good"): void;
  /** Nothing is left that Envoy refuses. */
  mend(): void;
  changes(): number;
}

function createChanger(mesh: Mesh, { pick, whole, chance }: Random): Changer {
  let n = 0;
  const mend = (hosts: Map<string, Host>): void => {
    for (const [host, { domains, answer }] of hosts) hosts.set(host, { domains, answer });
  };
  const free = (hosts: ReadonlyMap<string, Host>): readonly string[] => {
    const taken = new Set([...hosts.values()].flatMap(({ domains }) => domains));
    return words.filter((domain) => !taken.has(domain));
  };
  function changeHosts(hosts: Map<string, Host>): void {
    const [kind, host, answer] = [whole(100), `h${whole(6)}`, `v${n}`];
    const known = hosts.get(host);
    if (!known) {
      if (free(hosts).length > 0) hosts.set(host, { domains: [pick(free(hosts))], answer });
    } else if (kind < 25) hosts.delete(host);
    else if (kind < 60) hosts.set(host, { ...known, answer });
    else if (kind < 80) {
      hosts.delete(host);
      hosts.set(`m${n % 7}`, { domains: known.domains, answer });
    } else if (free(hosts).length > 0) hosts.set(host, { domains: [...known.domains, pick(free(hosts))], answer });
  }
  return {
    change(kind) {
      n++;
      const hosts = mesh.hosts.get(pick(mesh.names)) ?? new Map<string, Host>();
      changeHosts(hosts);
      if (kind === "good") return;
      if (chance(0.4)) mend(hosts);
      if (chance(0.12) && hosts.size > 0) {
        const host = pick([...hosts.keys()]);
        const bad = pick(["route", "domain"] as const);
        hosts.set(host, { domains: [], answer: "", ...hosts.get(host), bad });
      }
      const name = pick(mesh.names);
      if (chance(0.12) && !mesh.live.delete(name)) mesh.live.add(name);
    },
    mend() {
      for (const hosts of mesh.hosts.values()) mend(hosts);
    },
    changes: () => n,
  };
}

/** Waits until Envoy is as it is wanted, and knows from when on it cannot be as it was before. */
function createChecker(mesh: Mesh, admin: Admin) {
  const since = new Map<string, number>();
  let [checks, all, unexpected] = [0, 0, 0];
  return {
    since: (route: string): number => since.get(route) ?? 0,
    counts: () => ({ checks, refusals: all, unexpectedRefusals: unexpected }),
    async check(what: string): Promise<void> {
      checks++;
      let behind: readonly string[] = [];
      const arrived = async (): Promise<boolean> => {
        behind = await mesh.behind(admin);
        return behind.length === 0;
      };
      await until(arrived, what).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${behind.join("; ")}`);
      });
      const before = all;
      all = await refusals(admin);
      const passed = mesh.names.flatMap((name) => mesh.states(name).slice(since.get(name) ?? 0));
      if (all > before && !passed.some(isBad)) unexpected += all - before;
      for (const name of mesh.names) {
        const states = mesh.states(name);
        const now = states.at(-1);
        if (now?.live && !isBad(now)) since.set(name, states.length - 1);
      }
    },
  };
}
