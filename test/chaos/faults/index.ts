/** Every fault that there is, in the order in which they are played. */
import { badObjectsFault } from "./bad-objects.ts";
import { certificates } from "./certificates.ts";
import { churn } from "./churn.ts";
import { clocks } from "./clock.ts";
import { disks } from "./disk.ts";
import type { Fault } from "./fault.ts";
import { insides } from "./inside.ts";
import { kills } from "./kill.ts";
import { links } from "./link.ts";
import { pauses } from "./pause.ts";
import { upgrades } from "./upgrade.ts";

export const faults: readonly Fault[] = [
  ...kills,
  ...pauses,
  ...insides,
  ...disks,
  ...links,
  ...clocks,
  churn,
  badObjectsFault,
  certificates,
  ...upgrades,
];
