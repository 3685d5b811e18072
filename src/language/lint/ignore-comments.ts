// Comments that turn rules off: `verdigraph-ignore RULE, RULE` for its own line and the next, `verdigraph-ignore-file RULE` for
// the file. They stand in comments of Cypher (`//`, `/* */`) or YAML (`#`).
import { nearestName } from '../../../grammar/suggest.ts'
import { filePosition } from '../source/located-text.ts'
import type { LanguageDocument } from '../source/policy-source.ts'
import type { LintFinding, RawFinding } from './finding.ts'
import { type LintRuleId, lintRuleIds, lintRules } from './rules.ts'

/** The comments of one file. */
interface IgnoreComments {
  isIgnored(finding: LintFinding): boolean
  /** Names that are no rules. */
  readonly issues: readonly RawFinding[]
}

const comment = /(?:\/\/|\/\*|#)\s*verdigraph-ignore(-file)?\s+([\w-]+(?:\s*,\s*[\w-]+)*)/g

/** Reads the comments of a file. */
export function ignoreCommentsOf(document: LanguageDocument): IgnoreComments {
  const ignored: { readonly rule: string; readonly line: number | null }[] = []
  const issues: RawFinding[] = []
  for (const { 0: all, 1: wholeFile, 2: names = '', index } of document.text.matchAll(comment)) {
    const { line } = filePosition(document.text, index)
    const from = index + all.length - names.length
    for (const { 0: rule, index: at } of names.matchAll(/[\w-]+/g)) {
      if (isRule(rule)) ignored.push({ rule, line: wholeFile === undefined ? line : null })
      else
        issues.push({
          rule: 'unknown-rule',
          document,
          span: { start: from + at, end: from + at + rule.length },
          ...unknownRule(rule),
        })
    }
  }
  return {
    issues,
    isIgnored: ({ rule, line }) =>
      lintRules[rule].canBeIgnored &&
      ignored.some((one) => one.rule === rule && (one.line === null || line === one.line || line === one.line + 1)),
  }
}

function isRule(name: string): name is LintRuleId {
  return (lintRuleIds as readonly string[]).includes(name)
}

function unknownRule(name: string): { readonly message: string; readonly suggestion: string | null } {
  const suggestion = nearestName(name, lintRuleIds)
  return {
    message: `there is no rule \`${name}\`${suggestion === null ? '' : `; did you mean \`${suggestion}\`?`}`,
    suggestion,
  }
}
