import { expect, test } from "vitest";
import { inboundCluster, outboundCluster, parseClusterName, sniCluster } from "./cluster-name.ts";

test("names are read back as they were made", () => {
  const host = "reviews.shop.svc.cluster.local";
  expect(parseClusterName(outboundCluster(host, 80, "v1"))).toEqual({ mode: "outbound", port: 80, subset: "v1", host });
  expect(parseClusterName(sniCluster(host, 80))).toEqual({ mode: "sni-dnat", port: 80, subset: "", host });
  expect(parseClusterName(sniCluster(host, 80, "v_1"))).toEqual({ mode: "sni-dnat", port: 80, subset: "v_1", host });
  expect(parseClusterName(inboundCluster(8080))).toEqual({ mode: "inbound", port: 8080 });
});

test.each(["", "BlackHoleCluster", "outbound|x||a", "outbound|80||", "inbound|80|a|b", "rate_limit"])(
  "%j is none of Istio's names",
  (name) => expect(parseClusterName(name)).toBeUndefined(),
);
