// A finding of a rule, with its place in a file.
import type { Span } from '../../../grammar/ast.ts'
import { filePosition } from '../source/located-text.ts'
import type { LanguageDocument, MemberPath } from '../source/policy-source.ts'
import { type LintRuleId, lintRules, type Severity } from './rules.ts'

/** A finding as `--json` prints it. This shape is stable. */
export interface LintFinding {
  readonly rule: LintRuleId
  readonly severity: Severity
  /** As given; empty for a finding about the command line. */
  readonly file: string
  /** 1-based. */
  readonly line: number
  /** 1-based, in UTF-16 code units. */
  readonly column: number
  readonly end_line: number
  /** After the last character. */
  readonly end_column: number
  readonly message: string
  /** The text to write instead; null: there is no suggestion. */
  readonly suggestion: string | null
}

/** A finding before its lines are counted. */
export interface RawFinding {
  readonly rule: LintRuleId
  /** Null: the command line. */
  readonly document: LanguageDocument | null
  readonly span: Span
  readonly message: string
  readonly suggestion?: string | null
  /** The member of the policy that it is about; absent: its Cypher, or the whole text. */
  readonly member?: MemberPath
}

/** Adds severity and positions. */
export function toFinding({ rule, document, span, message, suggestion = null }: RawFinding): LintFinding {
  const text = document?.text ?? ''
  const [start, end] = [filePosition(text, span.start), filePosition(text, span.end)]
  return {
    rule,
    severity: lintRules[rule].severity,
    file: document?.file ?? '',
    ...start,
    end_line: end.line,
    end_column: end.column,
    message,
    suggestion,
  }
}
