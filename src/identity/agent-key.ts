// Agent keys: minted once, kept as a hash, and looked up in memory for every decision.

import type { ConfigSource } from '../config/kind.ts'
import type { Clock } from '../kernel/clock.ts'
import type { AgentCaller } from './caller.ts'

export declare class AgentKeys {
  constructor(documents: ConfigSource, clock: Clock)
  /** Null: unknown, expired, or its agent is gone. The caller's permissions are the agent's at this moment. */
  authenticateAgent(key: string): AgentCaller | null
}
