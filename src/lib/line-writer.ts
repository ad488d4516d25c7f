/** Lines in; written out together with the others of the same turn: where many are written at once, each does not cost a write of its own. */
export interface LineWriter {
  write(line: string): void;
  /** Behind those that wait. */
  writeNow(line: string): void;
  /** What has not been written yet, now: for whoever ends in the middle of a turn. */
  flush(): void;
}

export function createLineWriter(write: (text: string) => void): LineWriter {
  let waiting = "";
  const flush = (): void => {
    const text = waiting;
    waiting = "";
    if (text !== "") write(text);
  };
  return {
    write(line) {
      if (waiting === "") setImmediate(flush);
      waiting += `${line}\n`;
    },
    writeNow(line) {
      waiting += `${line}\n`;
      flush();
    },
    flush,
  };
}
