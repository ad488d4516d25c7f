import { describe, expect, test } from "vitest";
import { type Endpoint, localityName, splitLocality } from "../../model/index.ts";
import type { LocalityPolicy } from "../traffic-policy/locality.ts";
import { groupByLocality, type LocalityGroup, placeGroups } from "./locality.ts";
import type { Member } from "./members.ts";

function member(locality: string, labels: Record<string, string> = {}, weight = 1, network = ""): Member {
  const { region, zone, subZone } = splitLocality(locality);
  const places = {
    "topology.kubernetes.io/region": region,
    "topology.kubernetes.io/zone": zone,
    "topology.istio.io/subzone": subZone,
    "topology.istio.io/network": network,
    "kubernetes.io/hostname": "n1",
  };
  const endpoint: Endpoint = {
    addresses: ["10.0.0.1"],
    port: 80,
    portName: "http",
    labels: { ...labels, ...places },
    locality: splitLocality(locality),
    place: locality,
    weight,
    identity: "",
    namespace: "ns",
    workload: "w",
    tlsMode: "istio",
    network,
    cluster: "Kubernetes",
    health: "healthy",
    node: "n1",
    hostname: "",
    subdomain: "",
  };
  return { endpoint, weight, health: "healthy", mtls: true };
}

const client = {
  labels: { version: "v1", tier: "gold" },
  locality: splitLocality("eu/a/1"),
  cluster: "Kubernetes",
  network: "net1",
  node: "n1",
};
const everywhere = ["eu/a/1", "eu/a/2", "eu/b/1", "us/a/1", "ap/a/1"].map((place) => member(place));

const locality = (setting: (LocalityPolicy & { kind: "locality" })["setting"], always = false): LocalityPolicy => ({
  kind: "locality",
  setting,
  always,
});

const places = (members: readonly Member[], policy: LocalityPolicy, failover = true): readonly LocalityGroup[] =>
  placeGroups(groupByLocality(members, true), policy, client, failover);

const priorities = (groups: readonly LocalityGroup[]) =>
  Object.fromEntries(groups.map((group) => [localityName(group.locality), group.priority]));

describe("groups", () => {
  test("are sorted by place and weigh what their members weigh", () => {
    const groups = groupByLocality([member("us/a", {}, 3), member("eu/b"), member("us/a", {}, 2), member("")], false);
    expect(groups.map((group) => [localityName(group.locality), group.weight])).toEqual([
      ["", 1],
      ["eu/b", 1],
      ["us/a", 5],
    ]);
  });

  test("of one locality are apart by its spelling, and one where their weight counts", () => {
    const members = [member("us/a"), member("us/a/"), member("us/a/")];
    expect(groupByLocality(members, false).map((group) => group.weight)).toEqual([1, 2]);
    expect(groupByLocality(members, true).map((group) => group.weight)).toEqual([3]);
  });
});

describe("failover by distance", () => {
  test("goes from the sub-zone outwards, without gaps", () => {
    expect(priorities(places(everywhere, locality({})))).toEqual({
      "eu/a/1": 0,
      "eu/a/2": 1,
      "eu/b/1": 2,
      "us/a/1": 3,
      "ap/a/1": 3,
    });
  });

  test("prefers the region that is named for it", () => {
    const policy = locality({ failover: [{ from: "eu", to: "us" }] });
    expect(priorities(places(everywhere, policy))).toMatchObject({ "us/a/1": 3, "ap/a/1": 4 });
  });

  test("does nothing where unhealthy endpoints go unnoticed", () => {
    expect(new Set(places(everywhere, locality({}), false).map((group) => group.priority))).toEqual(new Set([0]));
  });
});

describe("failover by labels", () => {
  const members = [
    member("eu/a", { version: "v1", tier: "gold" }),
    member("eu/a", { version: "v1", tier: "iron" }, 4),
    member("eu/a", { version: "v2", tier: "gold" }),
  ];

  test("splits a locality by the number of labels shared from the first on", () => {
    const groups = places(members, locality({ failoverPriority: ["version", "tier"] }));
    expect(groups.map((group) => [group.priority, group.weight])).toEqual([
      [0, 1],
      [1, 4],
      [2, 1],
    ]);
  });

  test.each([[["version=v2"]], [["version", "version=v2"]]])(
    "takes a value that is written instead of the client's: %j",
    (failoverPriority) => {
      const groups = places(members, locality({ failoverPriority }));
      expect(groups.find((group) => group.priority === 0)?.members[0]?.endpoint.labels["version"]).toBe("v2");
    },
  );

  test("knows the places that Istio adds as labels", () => {
    const groups = places(everywhere, locality({ failoverPriority: ["topology.kubernetes.io/region"] }));
    expect(priorities(groups)).toMatchObject({ "eu/b/1": 0, "us/a/1": 1 });
  });

  test("puts everything of another network last", () => {
    const network = "topology.istio.io/network";
    const mixed = [member("us/a", {}, 1, "net1"), member("eu/a", {}, 1, "net2"), member("eu/a", {}, 1, "net1")];
    const groups = places(mixed, locality({ failoverPriority: [network, "topology.kubernetes.io/region"] }));
    const order = [...groups].sort((a, b) => a.priority - b.priority);
    expect(
      order.map(({ members: [first] }) => `${first?.endpoint.network} ${first?.endpoint.locality.region}`),
    ).toEqual(["net1 eu", "net1 us", "net2 eu"]);
  });

  test("goes before distance where both are given", () => {
    const both = locality({ failoverPriority: ["version"], failover: [{ from: "eu", to: "us" }] });
    const groups = places(
      [member("us/a", { version: "v1" }), member("eu/a", {}), member("eu/a", { version: "v1" })],
      both,
    );
    const order = [...groups].sort((a, b) => a.priority - b.priority).map(({ members: [first] }) => first?.endpoint);
    expect(order.map((endpoint) => [endpoint?.locality.region, endpoint?.labels["version"]])).toEqual([
      ["eu", "v1"],
      ["us", "v1"],
      ["eu", undefined],
    ]);
  });
});

describe("distribution", () => {
  test("shares out by the first entry for the client's place, and empties the rest", () => {
    const policy = locality({
      distribute: [
        { from: "us/*", to: { "us/*": 100 } },
        { from: "eu/a/*", to: { "eu/*": 80, "us/a/*": 20 } },
      ],
    });
    const groups = places(everywhere, policy);
    expect(groups.map((group) => [localityName(group.locality), group.members.length, group.weight])).toEqual([
      ["ap/a/1", 0, 1],
      ["eu/a/1", 1, 27],
      ["eu/a/2", 1, 27],
      ["eu/b/1", 1, 27],
      ["us/a/1", 1, 20],
    ]);
  });

  test("leaves clients elsewhere alone", () => {
    const groups = places(everywhere, locality({ distribute: [{ from: "us", to: { us: 100 } }] }));
    expect(groups.every((group) => group.members.length === 1 && group.weight === 1)).toBe(true);
  });
});

describe("zone-aware balancing", () => {
  test("keeps the region together", () => {
    const groups = places(everywhere, { kind: "zone-aware", setting: { failover: [{ from: "eu", to: "us" }] } }, false);
    expect(priorities(groups)).toEqual({ "eu/a/1": 0, "eu/a/2": 0, "eu/b/1": 0, "us/a/1": 1, "ap/a/1": 2 });
  });

  test("can be turned off", () => {
    const groups = places(everywhere, { kind: "zone-aware", setting: { enabled: false } });
    expect(new Set(groups.map((group) => group.priority))).toEqual(new Set([0]));
  });
});
