// What a check says: shapes and the few words they are made with.

/**
 * @typedef {object} Tool
 * @property {string} program
 * @property {string} why
 * @property {Readonly<Record<"apt" | "dnf" | "apk", string>>} packages
 */
/**
 * @typedef {object} Finding
 * @property {string} section
 * @property {string} name what was asked, as a statement
 * @property {"ok" | "warning" | "error"} state
 * @property {string} [detail] why it is not so
 * @property {string} [remedy] one command, or one sentence, that helps
 * @property {Tool} [tool] the missing program
 */

/**
 * @param {string} section
 * @param {string} name
 * @returns {Finding}
 */
export function ok(section, name) {
  return { section, name, state: "ok" };
}

/**
 * @param {string} section
 * @param {string} name
 * @param {string} detail
 * @param {string} remedy
 * @returns {Finding}
 */
export function error(section, name, detail, remedy) {
  return { section, name, state: "error", detail, remedy };
}

/**
 * A word for a shell.
 * @param {string} text
 */
export const quote = (text) => (/^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
