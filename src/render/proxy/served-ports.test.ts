import { expect, test } from "vitest";
import type { ServerFacet, Service, ServicePort } from "../../model/index.ts";
import type { View } from "../view.ts";
import { servedPorts } from "./served-ports.ts";

const port = (name: string, number: number, protocol = "HTTP") => ({ name, port: number, protocol }) as ServicePort;

/** All ports of these services lead to the port of the same number. */
function viewOf(services: ReadonlyMap<string, readonly ServicePort[]>): View<ServerFacet> {
  const made = new Map([...services].map(([key, ports]) => [key, { key, ports } as Service]));
  const targets = [...services].flatMap(([service, ports]) =>
    ports.map(({ name, port: number }) => ({ service, portName: name, port: number, targetPort: number })),
  );
  return { mesh: { service: (key: string) => made.get(key) }, proxy: { targets } } as unknown as View<ServerFacet>;
}

test("ports are in the order of services, those for UDP last; of one name the first counts", () => {
  const view = viewOf(
    new Map([
      ["a", [port("dns", 53, "UDP"), port("http", 80), port("http", 81)]],
      ["b", [port("http", 90)]],
    ]),
  );
  expect(
    servedPorts(view).map(({ service, servicePort, targetPort }) => [service.key, servicePort.port, targetPort]),
  ).toEqual([
    ["a", 80, 80],
    ["a", 80, 81],
    ["b", 90, 90],
    ["a", 53, 53],
  ]);
});

test("of a service with thousands of ports not each is compared with each", () => {
  let looks = 0;
  const name = (i: number): ServicePort =>
    Object.defineProperty({ ...port("", i) }, "name", {
      get() {
        looks++;
        return `http-${i}`;
      },
    });
  const view = viewOf(new Map([["a", Array.from({ length: 1000 }, (_, i) => name(i))]]));
  looks = 0;
  expect(servedPorts(view)).toHaveLength(1000);
  expect(looks).toBeLessThan(5000);
});
