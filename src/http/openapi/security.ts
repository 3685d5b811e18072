// What a caller shows: the ways that there are, and which of them a route takes.
import type { Auth } from '../route.ts'
import type { OperationObject } from './objects.ts'

export const securitySchemes = {
  agentKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-SVC-ClientKey',
    description: 'The key of an application agent.',
  },
  agentKeyAsBearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The key of an application agent where `X-SVC-ClientKey` is absent. No token of a user can ride along.',
  },
  serviceAccount: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A token of a service account: issued, or signed with the key of its credentials.',
  },
  userToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The token of an end user: beside the key of the agent that acts for them, or alone where MCP is spoken.',
  },
}

export function securityRequirements(auth: Auth): OperationObject['security'] {
  switch (auth.kind) {
    case 'public':
      return []
    case 'service-account':
      return [{ serviceAccount: [] }]
    case 'user':
      return [{ userToken: [] }]
    case 'agent': {
      const alone = [{ agentKey: [] }, { agentKeyAsBearer: [] }]
      const withUser = [{ agentKey: [], userToken: [] }]
      if (auth.user === 'ignored') return alone
      return auth.user === 'required' ? withUser : [...alone, ...withUser]
    }
  }
}
