// The command `model types`: writes TypeScript types for the questions that the policies of a project folder decide.
import { writeFileSync } from 'node:fs'
import { compiledModel, modelsKind, noModel } from '../../model/stored-model.ts'
import { policiesKind } from '../../policy/authorization-policy.ts'
import { compileDecisionPolicy } from '../../policy/compile-policy.ts'
import { isContextPolicy } from '../../policy/policy-header.ts'
import { parameterTypes } from '../../policy/type-issues.ts'
import { CliError } from '../output/cli-error.ts'
import { printDocument, printLine } from '../output/print.ts'
import { reading } from '../policies/files-below.ts'
import { readFolder } from './apply.ts'
import { questionTypes } from './question-types.ts'

/** The options of `model types`. */
export interface TypesFlags {
  readonly out?: string
}

/** Runs `model types`. Rejects with CliError for a folder or a policy with errors. */
export async function writeTypes(path: string, { out }: TypesFlags): Promise<void> {
  const folder = await readFolder(path)
  const document = folder.documents.find(({ kind }) => kind === modelsKind)
  const model = document === undefined ? noModel : compiledModel(document.body)
  if (!model.ok) throw new CliError(model.error)
  const questions = folder.documents.flatMap(({ kind, name, body }) => {
    if (kind !== policiesKind || body.status === 'DRAFT' || isContextPolicy(body)) return []
    const compiled = compileDecisionPolicy(String(body.policy), model.value)
    if (!compiled.ok) throw new CliError(compiled.error.map((issue) => `${name}: ${issue}`))
    const { subjectType, actions, resourceType, inputParameters } = compiled.value
    const types = model.value?.types == null ? new Map() : parameterTypes(compiled.value, model.value.types)
    const parameters = new Map(inputParameters.map((name) => [name, types.get(name) ?? null]))
    return [{ subject: subjectType, actions, resource: resourceType, parameters }]
  })
  const text = questionTypes(questions)
  if (out === undefined) {
    printDocument(text)
    return
  }
  reading(out, () => writeFileSync(out, text))
  printLine(`wrote ${out}`)
}
