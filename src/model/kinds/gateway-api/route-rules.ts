/** Rules that routes of several kinds have: what a filter has by its type, and what may be there once. */
import type { Rule } from "../schema.ts";

/** A filter has the field of its own type, and of no other. */
export const filterHas = (field: string, type: string): readonly Rule[] => [
  {
    message: `filter.${field} must be nil if the filter.type is not ${type}`,
    rule: `!(has(self.${field}) && self.type != '${type}')`,
  },
  {
    message: `filter.${field} must be specified for ${type} filter.type`,
    rule: `!(!has(self.${field}) && self.type == '${type}')`,
  },
];

export const filterOnce = (type: string): Rule => ({
  message: `${type} filter cannot be repeated`,
  rule: `self.filter(f, f.type == '${type}').size() <= 1`,
});

export const ruleNamesOnce: Rule = {
  message: "Rule name must be unique within the route",
  rule: "self.all(l1, !has(l1.name) || self.exists_one(l2, has(l2.name) && l1.name == l2.name))",
};

const maxRules = 16;

/** `sizeOf` says how many matches a rule has; CEL has no sum over a list. */
export const fewMatches = (sizeOf: (rule: string) => string): Rule => ({
  message:
    "While 16 rules and 64 matches per rule are allowed, the total number of matches across all rules in a route must be less than 128",
  rule: `${Array.from({ length: maxRules }, (_, i) => `(self.size() > ${i} ? ${sizeOf(`self[${i}]`)} : 0)`).join(" + ")} <= 128`,
});
