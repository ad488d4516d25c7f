import { expect, test } from "vitest";
import { createAddressGuard } from "./address-guard.ts";

test.each([
  "169.254.169.254",
  "169.254.0.1",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
  "64:ff9b::a9fe:a9fe",
  "::169.254.169.254",
  "::ffff:0:169.254.169.254",
  "64:ff9b:1::a9fe:a9fe",
  "64:ff9b:1:a9fe:a9:fe00::",
  "2002:a9fe:a9fe::1",
  "2001:0:1:2:3:4:5601:5601",
  "2001:db8::5efe:a9fe:a9fe",
  "2001:db8::200:5efe:a9fe:a9fe",
  "192.0.0.192",
  "fd20:ce::254",
  "fd00:c1::a9fe:a9fe",
  "255.255.255.255",
  "fe80::1",
  "fe80::1%eth0",
  "febf::1",
  "fd00:ec2::254",
  "100.100.100.200",
  "168.63.129.16",
  "0.0.0.0",
  "::",
  "224.0.0.1",
  "ff02::1",
  "metadata.google.internal",
  "",
])("%s is never called", (address) => {
  expect(createAddressGuard()(address)).toBeTypeOf("string");
});

test.each([
  ...["127.0.0.1", "10.1.2.3", "192.168.0.1", "fd00::1", "fec0::1", "::1", "8.8.8.8", "169.253.255.255"],
  ...[
    "2002:808:808::1",
    "64:ff9b::808:808",
    "64:ff9b:1:808:8:800::",
    "64:ff9b:1::808:808",
    "2001:db8::1",
    "2600::a9fe:a9fe",
  ],
])("%s may be called: key servers live in private networks too", (address) => {
  expect(createAddressGuard()(address)).toBeUndefined();
});

test("an installation blocks more", () => {
  const guard = createAddressGuard(["10.0.0.0/9", "fd12::/16"]);
  expect(guard("10.127.255.255")).toBe("10.127.255.255 is in a range that is blocked here");
  expect(guard("::ffff:10.1.2.3")).toBeTypeOf("string");
  expect(guard("2002:a01:203::1")).toBe("10.1.2.3 is in a range that is blocked here");
  expect(guard("10.128.0.0")).toBeUndefined();
  expect(guard("fd12::9")).toBeTypeOf("string");
});

test("a range that cannot be read is told at once", () => {
  expect(() => createAddressGuard(["10.0.0.0"])).toThrow("10.0.0.0 is not a range of addresses");
});
