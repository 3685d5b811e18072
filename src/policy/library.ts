// The ACTIVE decision policies of each project, compiled, found by what a request names.
import type { ConfigSource } from '../config/kind.ts'
import type { Condition } from '../engine/conditions.ts'

export interface CompiledPolicy {
  readonly id: string
  readonly name: string
  readonly version: '2.0-kbac' | '3.0-kbac'
  readonly subjectType: string
  readonly actions: readonly string[]
  readonly resourceType: string
  readonly tags: readonly string[]
  readonly condition: Condition
  /** What the caller must send in `input_params`: the condition's parameters without the platform-bound ones. */
  readonly inputParameters: readonly string[]
}

export declare class PolicyLibrary {
  constructor(documents: ConfigSource, report: (line: string) => void)
  find(projectId: string, subjectType: string, action: string, resourceType: string): readonly CompiledPolicy[]
}
