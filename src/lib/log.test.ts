import { describe, expect, test } from "vitest";
import { createLogger, printable } from "./log.ts";

describe("log", () => {
  test("lines have Istio's form, one line each, whatever users wrote into names", () => {
    const lines: string[] = [];
    const log = createLogger({
      write: (line) => lines.push(line),
      now: () => new Date(0),
      levels: "default:info,ads:debug",
    });
    log.info("started", { port: 1 });
    log.debug("not shown");
    log.scope("ads").debug("shown\nforged line", { name: "\u001b[31mred" });
    expect(lines).toEqual([
      "1970-01-01T00:00:00.000Z\tinfo\tstarted\tport=1",
      "1970-01-01T00:00:00.000Z\tdebug\tads\tshown\\u000aforged line\tname=\\u001b[31mred",
    ]);
  });

  test("JSON lines", () => {
    const lines: string[] = [];
    createLogger({ write: (line) => lines.push(line), now: () => new Date(0), json: true }).warn("careful", {
      a: undefined,
      b: 2,
    });
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      level: "warn",
      time: "1970-01-01T00:00:00.000Z",
      scope: "default",
      msg: "careful",
      b: 2,
    });
  });

  test("a text of megabytes is cut short", () => {
    const lines: string[] = [];
    const log = createLogger({ write: (line) => lines.push(line), now: () => new Date(0) });
    log.warn("x".repeat(1_000_000), { cause: "y".repeat(1_000_000) });
    expect(lines[0]).toMatch(/x… \(1000000 characters\)\tcause=y+… \(1000000 characters\)$/);
    expect(lines[0]?.length).toBeLessThan(40_000);
  });

  test("marks that turn the direction of text are shown, not obeyed", () => {
    expect(printable("a\u202eb\u0085c")).toBe("a\\u202eb\\u0085c");
    expect(printable("grün → ok")).toBe("grün → ok");
  });
});
