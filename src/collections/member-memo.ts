/**
 * A list, and a function of each member of it, in; what comes of all of them together out. After a change only the members
 * that it concerns are computed again, and only they are looked at: the others keep what they have read.
 */
import { provenanceOf } from "./causes.ts";
import { type Cell, Entry, type EntryOwner } from "./cells.ts";
import type { Memo } from "./memo.ts";
import type { Recorder } from "./recorder.ts";
import { sameData } from "./same-data.ts";
import { createTally, dropCounted, runCounted } from "./tally.ts";

export interface MemberMemo<V> extends Memo<V> {
  /** Brings the members up to date one after the other, so that a long making can be interrupted. */
  steps(key: string): Generator<void>;
}

export interface MemberOptions<M, V> {
  list(key: string): readonly string[];
  /** Undefined where the member gives nothing. */
  each(key: string, member: string): M | undefined;
  /** For `steps`: makes what a large member reads beforehand, in steps of its own. */
  prepare?(key: string, member: string): Iterable<void>;
  /** Of the members that give something, in the order of the list. Reads are not recorded here. */
  whole(members: ReadonlyMap<string, M>): V;
  readonly equals?: (a: M, b: M) => boolean;
}

/** One result with all that it is made of. */
class Group<M, V> extends Entry<V> {
  readonly list: Entry<readonly string[]>;
  readonly members = new Map<string, Entry<M | undefined>>();
  /** Members that may have to be computed again. */
  readonly due = new Set<string>();
  readonly ofMembers: EntryOwner<M | undefined>;
  /** Since the whole was made. */
  differs = true;

  constructor(memo: EntryOwner<V>, key: string) {
    super(memo, key);
    this.list = new Entry<readonly string[]>({ name: memo.name, invalidated() {}, refresh() {} }, key);
    this.list.addReader(this);
    this.reads = [this.list];
    this.ofMembers = {
      name: memo.name,
      invalidated: ({ key: member }) => void this.due.add(member),
      refresh() {},
    };
  }
}

export function createMemberMemo<M, V>(
  recorder: Recorder,
  name: string,
  { list, each, prepare, whole, equals = sameData }: MemberOptions<M, V>,
  closed: () => void,
): MemberMemo<V> {
  const groups = new Map<string, Group<M, V>>();
  const tally = createTally();

  const drop = (key: string): void => {
    const group = groups.get(key);
    if (!group || group.running) return;
    recorder.mark(group, "stale");
    recorder.forget(group);
    dropCounted(tally, recorder, group.list);
    for (const member of group.members.values()) dropCounted(tally, recorder, member);
    groups.delete(key);
  };

  /** Whether it had to be computed. */
  const refreshList = (group: Group<M, V>): boolean => {
    if (!recorder.outdated(group.list)) return false;
    const names = runCounted(tally, recorder, group.list, () => list(group.key));
    tally.computed++;
    if (group.list.rank > group.rank) group.rank = group.list.rank;
    if (sameData(group.list.value, names)) return true;
    const listed = new Set(names);
    for (const [member, entry] of group.members) {
      if (listed.has(member)) continue;
      dropCounted(tally, recorder, entry);
      group.members.delete(member);
      group.due.delete(member);
    }
    for (const member of listed) {
      if (group.members.has(member)) continue;
      const entry = new Entry<M | undefined>(group.ofMembers, member);
      entry.addReader(group);
      group.members.set(member, entry);
      group.due.add(member);
    }
    group.list.value = [...listed];
    group.reads = [group.list, ...group.members.values()];
    group.differs = true;
    return true;
  };

  /** Whether it had to be computed. */
  const refreshMember = (group: Group<M, V>, member: string): boolean => {
    const entry = group.members.get(member);
    const isDue = entry !== undefined && recorder.outdated(entry);
    if (isDue) {
      const value = runCounted(tally, recorder, entry, () => each(group.key, member));
      tally.computed++;
      const same =
        value === undefined || entry.value === undefined ? value === entry.value : equals(entry.value, value);
      if (!same) {
        entry.value = value;
        group.differs = true;
      }
    }
    if (entry && entry.rank > group.rank) group.rank = entry.rank;
    group.due.delete(member);
    return isDue;
  };

  const settle = (group: Group<M, V>): void => {
    if (!group.differs) return;
    const made = new Map<string, M>();
    for (const member of group.list.value ?? []) {
      const value = group.members.get(member)?.value;
      if (value !== undefined) made.set(member, value);
    }
    group.value = recorder.untracked(() => whole(made));
    group.differs = false;
    recorder.mark(group, "stale");
  };

  /** Whether something of it had to be computed. */
  const refresh = (group: Group<M, V>): boolean => {
    if (group.state === "clean") return false;
    // Clean before the work, so that what changes meanwhile is not lost.
    group.state = "clean";
    group.running = true;
    try {
      let isMade = refreshList(group);
      for (const member of group.due) isMade = refreshMember(group, member) || isMade;
      settle(group);
      return isMade;
    } catch (error) {
      group.state = "failed";
      // Who reads it may have made do without.
      group.differs = true;
      throw error;
    } finally {
      group.running = false;
    }
  };

  const owner: EntryOwner<V> = {
    name,
    invalidated() {},
    // One that was dropped before has made room for another, which may well be read.
    abandoned(cell: Cell) {
      if (groups.get(cell.key) === cell) drop(cell.key);
    },
    refresh: (entry) => void refresh(entry as Group<M, V>),
  };

  const groupOf = (key: string): Group<M, V> => {
    const group = groups.get(key) ?? new Group<M, V>(owner, key);
    groups.set(key, group);
    recorder.visit(group);
    if (group.running) throw new Error(`${name}/${key} depends on itself`);
    return group;
  };

  return {
    get(key) {
      const group = groupOf(key);
      try {
        if (!refresh(group)) tally.hits++;
      } finally {
        // A failure too: who contains it has to run again when it is over.
        recorder.record(group);
      }
      return group.value as V;
    },
    *steps(key) {
      for (;;) {
        const group = groupOf(key);
        recorder.record(group);
        if (group.state === "clean") return;
        refreshList(group);
        const [next] = group.due;
        if (next === undefined) return void refresh(group);
        if (prepare) yield* prepare(key, next);
        // It may have gone meanwhile, or be another one.
        if (groups.get(key) === group && group.due.has(next)) refreshMember(group, next);
        yield;
      }
    },
    isKept: (key) => groups.has(key),
    isFresh: (key) => groups.get(key)?.state === "clean",
    causes: (key) => provenanceOf(groups.get(key)).causes,
    provenance: (key, isPart) => provenanceOf(groups.get(key), isPart),
    tally,
    get computed() {
      return tally.computed;
    },
    get size() {
      return groups.values().reduce((sum, { members }) => sum + 1 + members.size, 0);
    },
    drop,
    dispose() {
      closed();
      for (const key of [...groups.keys()]) drop(key);
    },
  };
}
