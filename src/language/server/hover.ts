// The text that an editor shows at a place of Cypher: the name at the place, and the plan of the condition.
import { compileConditionRows } from '../../engine/condition-rows.ts'
import { compileCondition } from '../../engine/conditions.ts'
import { usesIn } from '../../engine/definitions/uses.ts'
import { compileRowsQuery } from '../../engine/rows-query.ts'
import type { ProjectModel } from '../../model/project-model.ts'
import { type CompiledSource, compileSource } from '../lint/compile-source.ts'
import type { DataNames } from '../lint/data-names.ts'
import type { PolicySource } from '../source/policy-source.ts'

/** Markdown for an offset of the Cypher of a source; null: the source does not compile. */
export function hoverAt(
  source: PolicySource,
  offset: number,
  names: DataNames | null,
  model: ProjectModel | null = null,
): string | null {
  const compiled = compileSource(source, model)
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
  return [
    ...definitionAt(compiled.value, offset),
    ...about,
    ...(plan === null ? [] : [`${plan.title}\n\n\`\`\`text\n${plan.text.trimEnd()}\n\`\`\``]),
  ].join('\n\n')
}

/** Markdown for an offset of a model: the definition that the name at the place stands for; null: it is no name of a definition. */
export function definitionHover(text: string, offset: number, model: ProjectModel | null): string | null {
  const before = /[\p{L}\p{M}\p{N}_]*$/u.exec(text.slice(0, offset))?.[0] ?? ''
  const after = /^[\p{L}\p{M}\p{N}_]*/u.exec(text.slice(offset))?.[0] ?? ''
  return model === null ? null : definitionText(model, before + after)
}

function definitionText({ text, definitions }: ProjectModel, name: string): string | null {
  const span = definitions?.spanOf(name) ?? null
  return span === null ? null : `definition of the model\n\n\`\`\`text\n${text.slice(span.start, span.end)}\n\`\`\``
}

/** The text of the definition that a relationship type at the offset names. */
function definitionAt({ query, model }: CompiledSource, offset: number): readonly string[] {
  const definitions = model?.definitions ?? null
  if (model === null || definitions === null) return []
  const use = usesIn(query, (name) => definitions.has(name)).find(
    ({ type: { span } }) => span.start <= offset && offset < span.end,
  )
  return use === undefined ? [] : [definitionText(model, use.type.name) ?? '']
}

function planOf({
  source,
  kind,
  version,
  model,
  subjectType,
  resourceType,
}: CompiledSource): { title: string; text: string } | null {
  const text = source.cypher?.text ?? ''
  const definitions = model?.definitions ?? undefined
  const derived = definitions === undefined ? {} : { definitions }
  if (kind === 'cypher' || subjectType === null) {
    const rows = compileRowsQuery(text, undefined, undefined, definitions)
    return rows.ok ? { title: 'Plan of the query', text: rows.value.explain() } : null
  }
  if (kind === 'context' || resourceType === null) {
    const rows = compileConditionRows({ text, dialect: '1.0-ciq', subjectType, ...derived })
    const conditionRows = rows.ok ? rows.value.withFilter(null) : rows
    return conditionRows.ok ? { title: 'Plan of the rows of the policy', text: conditionRows.value.explain() } : null
  }
  const dialect = version === '2.0-kbac' ? version : '3.0-kbac'
  const condition = compileCondition({ text, dialect, subjectType, resourceType, ...derived })
  return condition.ok ? { title: 'Plan of a decision', text: condition.value.explain('check') } : null
}
