// Formats the Cypher in a file: of each policy in a YAML or JSON document, the whole text of a `.cypher` file, or a model.
import { modelStart } from '../../model/model-file.ts'
import { type LintFinding, type RawFinding, toFinding } from '../lint/finding.ts'
import { spanInFile } from '../source/located-text.ts'
import {
  compareEdits,
  isModelFile,
  type LanguageDocument,
  readPolicies,
  type TextEdit,
} from '../source/policy-source.ts'
import { formatCypher } from './format-cypher.ts'
import { formatModel } from './format-model.ts'

/** The changes that format a file. A text that does not parse, and text outside of Cypher, stays as it is. */
export function formattingEdits(document: LanguageDocument): readonly TextEdit[] {
  if (isModelFile(document)) return modelEdits(document)
  return readPolicies(document)
    .policies.flatMap((source) => {
      const formatted = source.cypher === null ? null : formatCypher(source.cypher.text)
      if (formatted === null || !formatted.ok) return []
      const edit = source.replaceCypher(formatted.value)
      return document.text.slice(edit.span.start, edit.span.end) === edit.text ? [] : [edit]
    })
    .sort(compareEdits)
}

function modelEdits({ text }: LanguageDocument): readonly TextEdit[] {
  const start = modelStart(text)
  const formatted = formatModel(text.slice(start))
  if (!formatted.ok || text.slice(start) === `${formatted.value}\n`) return []
  return [{ span: { start, end: text.length }, text: `${formatted.value}\n` }]
}

/** The formatted text of a file. */
export function formatDocument(document: LanguageDocument): string {
  let [text, at] = ['', 0]
  for (const { span, text: replaced } of formattingEdits(document)) {
    text += document.text.slice(at, span.start) + replaced
    at = span.end
  }
  return text + document.text.slice(at)
}

/** The errors that prevent formatting a file: what cannot be read, and Cypher that does not parse. */
export function syntaxErrors(document: LanguageDocument): readonly LintFinding[] {
  if (isModelFile(document)) {
    const start = modelStart(document.text)
    const formatted = formatModel(document.text.slice(start))
    if (formatted.ok) return []
    return formatted.error.map(({ message, span }) =>
      toFinding({
        rule: 'invalid-model',
        document,
        message,
        span: { start: start + span.start, end: start + span.end },
      }),
    )
  }
  const { policies, issues } = readPolicies(document)
  const ofCypher = policies.flatMap(({ cypher }): RawFinding[] => {
    const formatted = cypher === null ? null : formatCypher(cypher.text)
    if (cypher === null || formatted === null || formatted.ok) return []
    return formatted.error.map(({ message, span }) => ({
      rule: 'invalid-cypher',
      document,
      message,
      span: spanInFile(cypher, span),
    }))
  })
  return [...issues.map((issue): RawFinding => ({ rule: 'invalid-document', document, ...issue })), ...ofCypher].map(
    toFinding,
  )
}
