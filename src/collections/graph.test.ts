import { describe, expect, test } from "vitest";
import { createGraph } from "./graph.ts";

describe("graph", () => {
  test("a change reruns only what read the changed key", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    numbers.set("a", 1);
    numbers.set("b", 2);
    const double = graph.memo("double", (key) => (numbers.get(key) ?? 0) * 2);
    expect([double.get("a"), double.get("b"), double.computed]).toEqual([2, 4, 2]);
    numbers.set("a", 5);
    expect([double.get("a"), double.get("b"), double.computed]).toEqual([10, 4, 3]);
  });

  test("a look-up that found nothing is recorded", () => {
    const graph = createGraph();
    const names = graph.source<string>("names");
    const greeting = graph.memo("greeting", (key) => `hello ${names.get(key) ?? "nobody"}`);
    expect(greeting.get("x")).toBe("hello nobody");
    names.set("x", "Ada");
    expect(greeting.get("x")).toBe("hello Ada");
  });

  test("what was made from a member is found, through derived sets and memos, and nothing else", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    const doubles = graph.derive("doubles", numbers, (n, key) => [[`2${key}`, n * 2]]);
    const text = graph.memo("text", (key) => `text ${doubles.get(key)}`);
    const both = graph.memo("both", () => `${text.get("2a")}, ${text.get("2b")}`);
    numbers.set("a", 1);
    numbers.set("b", 2);
    both.get("");
    const found = (key: string) => [...graph.dependents(numbers, key)].sort();
    expect(found("a")).toEqual(["text 2", "text 2, text 4"]);
    expect(found("none")).toEqual([]);
    // While a change is told, it is what the member before was read by.
    let told: readonly unknown[] = [];
    numbers.subscribe((key) => {
      told = found(key);
    });
    numbers.delete("b");
    expect(told).toEqual(["text 2, text 4", "text 4"]);
  });

  test("readers of an eager memo are told only where it came out different", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    numbers.set("n", 1);
    const half = graph.memo("half", (key) => Math.floor((numbers.get(key) ?? 0) / 2));
    const isOdd = graph.memo("is odd", (key) => half.get(key) % 2 === 1, { isEager: true });
    const isEven = graph.memo("is even", (key) => !isOdd.get(key), { isEager: true });
    const told: string[] = [];
    const text = graph.memo("text", (key) => (isEven.get(key) ? "even" : "odd"), {
      onInvalidate: (key) => told.push(key),
    });
    expect(text.get("n")).toBe("even");
    numbers.set("n", 4);
    expect([told, text.isFresh("n"), text.get("n"), isOdd.computed]).toEqual([[], true, "even", 2]);
    numbers.set("n", 2);
    expect([told, text.get("n")]).toEqual([["n"], "odd"]);
  });

  test("an eager memo that fails is told of, and no derived set may read one", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    const positive = graph.memo(
      "positive",
      (key) => {
        const n = numbers.get(key) ?? 0;
        if (n < 0) throw new Error("negative");
        return n > 0;
      },
      { isEager: true },
    );
    const contained = graph.memo(
      "contained",
      (key) => {
        try {
          return String(positive.get(key));
        } catch {
          return "unknown";
        }
      },
      { onInvalidate() {} },
    );
    const said = [contained.get("n")];
    for (const n of [1, 2, -1, 2]) {
      numbers.set("n", n);
      said.push(contained.get("n"));
    }
    expect(said).toEqual(["false", "true", "true", "unknown", "true"]);
    expect(() => graph.derive("late", numbers, (_, key) => [[key, positive.get(key)]])).toThrow("derived after");
  });

  test("what many members have a part in is gone through once, and is one list for all of them", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    const classes = Array.from({ length: 40 }, (_, i) => `c${i}`);
    const sum = graph.memo("sum", () => numbers.keys().reduce((all, key) => all + (numbers.get(key) ?? 0), 0));
    const own = graph.memo("own", (key) => `own ${numbers.get(key)}`);
    const ofClass = graph.memo("of class", (key) => `${key} has ${sum.get("")}`);
    for (const [key, n] of [
      ["a", 1],
      ["b", 2],
    ] as const)
      numbers.set(key, n);
    for (const key of ["a", "b"]) own.get(key);
    for (const name of classes) ofClass.get(name);
    const listsOf = graph.sharedDependents();
    const [a, b] = [[...listsOf(numbers, "a")], [...listsOf(numbers, "b")]];
    for (const [key, lists] of [
      ["a", a],
      ["b", b],
    ] as const)
      expect(new Set(lists.flat())).toEqual(new Set(graph.dependents(numbers, key)));
    const common = a.filter((list) => b.includes(list));
    expect(common.flat()).toHaveLength(classes.length);
    expect(a.length).toBeLessThanOrEqual(3);
    expect([...listsOf(numbers, "none")]).toEqual([]);
  });

  test("an equal result stops the wave", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    numbers.set("n", 1);
    const parity = graph.memo("parity", () => (numbers.get("n") ?? 0) % 2);
    const text = graph.memo("text", () => `parity ${parity.get("")}`);
    expect(text.get("")).toBe("parity 1");
    numbers.set("n", 3);
    expect(text.get("")).toBe("parity 1");
    expect([parity.computed, text.computed]).toEqual([2, 1]);
  });

  test("derived sets and indexes follow their input", () => {
    const graph = createGraph();
    const people = graph.source<{ team: string; tags: readonly string[] }>("people");
    const tags = graph.derive("tags", people, (p, key) =>
      p.tags.map((tag) => [`${key}/${tag}`, { tag, team: p.team }]),
    );
    const byTeam = graph.index(tags, "team", (t) => [t.team]);
    people.set("ada", { team: "x", tags: ["one", "two"] });
    people.set("bob", { team: "y", tags: ["three"] });
    expect(byTeam.get("x")).toEqual(["ada/one", "ada/two"]);
    people.set("ada", { team: "y", tags: ["two"] });
    expect(byTeam.get("x")).toEqual([]);
    expect(byTeam.get("y")).toEqual(["ada/two", "bob/three"]);
    people.delete("bob");
    expect(byTeam.get("y")).toEqual(["ada/two"]);
  });

  test("of two inputs that make the same key the first by name has it, and the other takes over", () => {
    const graph = createGraph();
    const claims = graph.source<string>("claims");
    const hosts = graph.derive("hosts", claims, (host, key) => [[host, key]]);
    claims.set("b", "host");
    claims.set("a", "host");
    expect(hosts.get("host")).toBe("a");
    claims.delete("a");
    expect(hosts.get("host")).toBe("b");
    claims.delete("b");
    expect(hosts.get("host")).toBeUndefined();
  });

  test("causes name the root objects through every stage, and the noted fields", () => {
    const graph = createGraph();
    const a = graph.source<number>("A");
    const b = graph.source<number>("B");
    a.set("one", 1);
    b.set("two", 2);
    const sums = graph.derive("sums", a, (value, key) => [[key, value + (b.get("two") ?? 0)]]);
    const part = graph.memo("part", (key) => {
      graph.note("A/one", "spec.x");
      return sums.get(key);
    });
    expect(part.get("one")).toBe(3);
    expect(part.causes("one")).toEqual([
      { object: "A/one", field: "spec.x" },
      { object: "A/one" },
      { object: "B/two" },
    ]);
  });

  test("what was looked for in vain is told apart, and a part has provenance of its own", () => {
    const graph = createGraph();
    const a = graph.source<number>("A");
    a.set("one", 1);
    a.set("two", 2);
    const part = graph.memo("part", (key) => a.get(key) ?? a.get("default") ?? 0);
    const whole = graph.memo("whole", () => part.get("one") + part.get("two") + part.get("three"));
    whole.get("");
    expect(whole.provenance("")).toEqual({
      causes: [{ object: "A/one" }, { object: "A/two" }],
      missing: ["A/three", "A/default"],
    });
    expect(whole.provenance("", (memo, key) => memo === "part" && key === "two")).toEqual({
      causes: [{ object: "A/two" }],
      missing: [],
    });
    expect(whole.provenance("", () => false)).toEqual({ causes: [], missing: [] });
  });

  test("onInvalidate fires once per outdated entry, and again after it was refreshed", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    const told: string[] = [];
    const memo = graph.memo("memo", (key) => numbers.get(key), { onInvalidate: (key) => told.push(key) });
    memo.get("a");
    numbers.set("a", 1);
    numbers.set("a", 2);
    expect(told).toEqual(["a"]);
    memo.get("a");
    numbers.set("a", 3);
    expect(told).toEqual(["a", "a"]);
  });

  test("a computation that fails is tried again", () => {
    const graph = createGraph();
    let fail = true;
    const memo = graph.memo("memo", () => {
      if (fail) throw new Error("no");
      return 1;
    });
    expect(() => memo.get("")).toThrow("no");
    fail = false;
    expect(memo.get("")).toBe(1);
  });

  test("who contains a fault of what it reads is asked itself, and told when the fault is over", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    const told: string[] = [];
    const root = graph.memo("root", (key) => {
      const value = numbers.get(key) ?? 0;
      if (value < 0) throw new Error("negative");
      return value;
    });
    const sum = graph.memo<number>(
      "sum",
      (_key, last) => {
        const other = numbers.get("other") ?? 0;
        try {
          return other + root.get("a");
        } catch {
          return last ?? -1;
        }
      },
      { onInvalidate: (key) => told.push(key) },
    );
    graph.change(() => {
      numbers.set("a", 4);
      numbers.set("other", 10);
    });
    expect(sum.get("")).toBe(14);
    numbers.set("a", -1);
    expect(sum.get("")).toBe(14);
    numbers.set("other", 20);
    expect(sum.get("")).toBe(14);
    told.length = 0;
    // The same as before the fault, and yet something else has changed meanwhile.
    numbers.set("a", 4);
    expect(told).toEqual([""]);
    expect(sum.get("")).toBe(24);
    numbers.set("a", 5);
    expect(sum.get("")).toBe(25);
  });

  test("a fault at first is over when what caused it has changed", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    const told: string[] = [];
    const root = graph.memo(
      "root",
      (key) => {
        if (numbers.get(key) === undefined) throw new Error("none");
        return numbers.get(key);
      },
      { onInvalidate: (key) => told.push(key) },
    );
    expect(() => root.get("a")).toThrow("none");
    numbers.set("a", 1);
    expect(told).toEqual(["a"]);
    expect(root.get("a")).toBe(1);
  });

  test("a loop is an error, not a hang", () => {
    const graph = createGraph();
    const memo: { get(key: string): unknown } = graph.memo("memo", (key) => memo.get(key));
    expect(() => memo.get("x")).toThrow("depends on itself");
  });

  test("a member that cannot be derived is told, keeps what it gave last, and costs nobody else", () => {
    const told: string[] = [];
    const graph = createGraph({ onFault: (what) => told.push(what) });
    const numbers = graph.source<number>("numbers");
    const halves = graph.derive("halves", numbers, (value, key) => {
      if (value % 2 === 1) throw new Error("odd");
      return [[key, value / 2]];
    });
    graph.change(() => {
      numbers.set("a", 4);
      numbers.set("b", 1);
      numbers.set("c", 8);
    });
    expect([halves.get("a"), halves.get("b"), halves.get("c"), told]).toEqual([2, undefined, 4, ["halves/b"]]);
    numbers.set("a", 5);
    expect(halves.get("a")).toBe(2);
    numbers.set("a", 6);
    expect(halves.get("a")).toBe(3);
  });
});

describe("what nobody reads any longer", () => {
  test("is dropped with all that only it had read, and the rest stays", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    const heads = graph.derive("heads", numbers, (value, key) => [[key, value]]);
    const byParity = graph.index(heads, "parity", (value) => [value % 2 ? "odd" : "even"]);
    const one = graph.memo("one", (key) => (heads.get(key) ?? 0) * 2);
    const sum = graph.memo(
      "sum",
      () => ["even", "odd"].flatMap((word) => byParity.get(word)).reduce((total, key) => total + one.get(key), 0),
      { onInvalidate: () => {} },
    );
    numbers.set("kept", 1);
    expect(sum.get("")).toBe(2);
    const before = graph.entries;
    for (let i = 0; i < 1000; i++) {
      numbers.set(`n${i}`, i);
      expect(sum.get("")).toBe(2 + 2 * i);
      numbers.delete(`n${i}`);
    }
    expect(sum.get("")).toBe(2);
    graph.sweep();
    expect(graph.entries).toBe(before);
    expect(one.size).toBe(1);
  });

  test("stays while somebody asks for it between changes, although no computation reads it", () => {
    const graph = createGraph();
    const numbers = graph.source<number>("numbers");
    const double = graph.memo("double", (key) => (numbers.get(key) ?? 0) * 2);
    for (let i = 0; i < 5; i++) {
      double.get("a");
      numbers.set("b", i);
    }
    expect([double.computed, double.size]).toEqual([1, 1]);
    numbers.set("b", 7);
    expect(double.size).toBe(0);
  });
});

test("a derived set that reads a later one fails loudly, also through a memo", () => {
  const graph = createGraph();
  const source = graph.source<number>("source");
  const late: { get(key: string): unknown }[] = [];
  const through = graph.memo("through", (key) => late[0]?.get(key));
  graph.derive("early", source, (_, key) => [[key, through.get(key)]]);
  late.push(graph.derive("late", source, (value, key) => [[key, value]]));
  expect(() => source.set("a", 1)).toThrow("early/a reads a set that is derived after early");
  // Not only once.
  expect(() => source.set("b", 1)).toThrow("early/a reads a set that is derived after early");
});

test("a derived set that comes to read a later one, by a memo that came out the same, fails loudly too", () => {
  const told: string[] = [];
  const graph = createGraph({ onFault: (what) => told.push(what) });
  const [source, late] = [graph.source<number>("source"), graph.source<number>("late source")];
  const switches = graph.source<boolean>("switches");
  const later: { get(key: string): unknown }[] = [];
  const through = graph.memo("through", (key) => (switches.get("on") ? later[0]?.get(key) : undefined));
  const early = graph.derive("early", source, (value, key) => [[key, [value, through.get(key)]]]);
  later.push(graph.derive("late", late, (value, key) => [[key, value]]));
  source.set("a", 1);
  // Nothing is there yet, so that the memo is as it was, and the early set is not made again.
  switches.set("on", true);
  expect(told).toEqual([]);
  late.set("a", 2);
  expect([early.get("a"), told]).toEqual([[1, undefined], ["early/a"]]);
});

test("what work in steps has looked up stays until it is released, and is told of nothing", () => {
  const graph = createGraph();
  const source = graph.source<number>("n");
  source.set("a", 1);
  const doubled = graph.memo<number>("doubled", (key) => 2 * (source.get(key) ?? 0));
  const hold = graph.hold();
  expect(hold.run(() => doubled.get("a"))).toBe(2);
  for (let i = 0; i < 3; i++) graph.sweep();
  expect([doubled.size, doubled.computed]).toEqual([1, 1]);
  source.set("a", 2);
  expect(hold.run(() => doubled.get("a"))).toBe(4);
  hold.release();
  graph.sweep();
  expect(doubled.size).toBe(0);
});

test("what was dropped and made anew is not swept with what it was before", () => {
  const graph = createGraph();
  const inner = graph.memo<number>("inner", () => 1);
  let told = 0;
  const outer = graph.memo<number>("outer", (key) => inner.get(key), { onInvalidate: () => told++ });
  outer.get("a");
  inner.drop("a");
  outer.get("a");
  expect([told, inner.size]).toEqual([1, 1]);
  for (let i = 0; i < 3; i++) graph.sweep();
  expect([told, inner.size]).toEqual([1, 1]);
});

test.each([
  ["a map", (names: readonly string[]) => new Map(names.map((name) => [name, 1]))],
  ["a set", (names: readonly string[]) => new Set(names)],
])("who goes through %s is made again when its order changes", (_, gather) => {
  const graph = createGraph();
  const names = graph.source<readonly string[]>("names");
  names.set("", ["a", "b"]);
  const gathered = graph.memo("gathered", () => gather(names.get("") ?? []));
  const first = graph.memo("first", () => gathered.get("").keys().next().value);
  expect(first.get("")).toBe("a");
  names.set("", ["b", "a"]);
  expect(first.get("")).toBe("b");
});
