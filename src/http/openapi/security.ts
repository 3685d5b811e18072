// The security schemes of the OpenAPI document, and the security requirements of a route.
import type { Auth } from '../route.ts'
import type { OperationObject } from './objects.ts'

/** The ways to authenticate, by component name. */
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
      'The key of an application agent if `X-SVC-ClientKey` is absent. It cannot be combined with a user token.',
  },
  serviceAccount: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'A token of a service account: issued by the service, or signed by the caller with the private key of its credentials.',
  },
  projectId: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Project-Id',
    description:
      'The project in which a service account acts as an agent would, if `X-SVC-ClientKey` is absent. `all_editor` has all permissions except CIQ, `all_viewer` has ReadAuthZConfigs.',
  },
  metricsToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of the setting `metrics_token`, for `/metrics` only.',
  },
  userToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of an end user: together with the key of the agent that acts for them, or alone for MCP.',
  },
}

/** Returns the alternatives to authenticate for a route; empty: public. */
export function securityRequirements(auth: Auth): OperationObject['security'] {
  switch (auth.kind) {
    case 'public':
      return []
    case 'service-account':
      return [{ serviceAccount: [] }, ...(auth.fixedTokens === undefined ? [] : [{ metricsToken: [] }])]
    case 'agent-or-account':
      return [{ agentKey: [] }, { agentKeyAsBearer: [] }, { serviceAccount: [] }]
    case 'user':
      return [{ userToken: [] }]
    case 'agent': {
      const alone = [
        { agentKey: [] },
        { agentKeyAsBearer: [] },
        ...(auth.permission === 'CIQ' ? [] : [{ serviceAccount: [], projectId: [] }]),
      ]
      const withUser = [{ agentKey: [], userToken: [] }]
      if (auth.user === 'ignored') return alone
      return auth.user === 'required' ? withUser : [...alone, ...withUser]
    }
  }
}
