// What an editor shows at a place of a Cypher text: the name at the place, and the plan of the condition.
import { compileConditionRows } from '../../engine/condition-rows.ts'
import { compileCondition } from '../../engine/conditions.ts'
import { compileRowsQuery } from '../../engine/rows-query.ts'
import { type CompiledSource, compileSource } from '../lint/compile-source.ts'
import type { DataNames } from '../lint/data-names.ts'
import type { PolicySource } from '../source/policy-source.ts'

/** Markdown for an offset of the Cypher of a source; null: the source does not compile. */
export function hoverAt(source: PolicySource, offset: number, names: DataNames | null): string | null {
  const compiled = compileSource(source)
  if (!compiled.ok) return null
  const symbol = compiled.value.bound.symbols.find(({ span }) => span.start <= offset && offset < span.end)
  const noun = { label: 'label', type: 'relationship type', property: 'property' }
  const isKnown = symbol !== undefined && names?.[symbol.kind].has(symbol.name)
  const about =
    symbol === undefined
      ? []
      : [
          `${noun[symbol.kind]} \`${symbol.name}\`${names === null ? '' : isKnown ? ': in the data' : ': not in the data'}`,
        ]
  const plan = planOf(compiled.value)
  return [...about, ...(plan === null ? [] : [`${plan.title}\n\n\`\`\`text\n${plan.text.trimEnd()}\n\`\`\``])].join(
    '\n\n',
  )
}

function planOf({
  source,
  kind,
  version,
  subjectType,
  resourceType,
}: CompiledSource): { title: string; text: string } | null {
  const text = source.cypher?.text ?? ''
  if (kind === 'cypher' || subjectType === null) {
    const rows = compileRowsQuery(text)
    return rows.ok ? { title: 'Plan of the query', text: rows.value.explain() } : null
  }
  if (kind === 'context' || resourceType === null) {
    const rows = compileConditionRows({ text, dialect: '1.0-ciq', subjectType })
    const conditionRows = rows.ok ? rows.value.withFilter(null) : rows
    return conditionRows.ok ? { title: 'Plan of the rows of the policy', text: conditionRows.value.explain() } : null
  }
  const dialect = version === '2.0-kbac' ? version : '3.0-kbac'
  const condition = compileCondition({ text, dialect, subjectType, resourceType })
  return condition.ok ? { title: 'Plan of a decision', text: condition.value.explain('check') } : null
}
