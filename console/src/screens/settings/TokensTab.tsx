export { PendingScreen as TokensTab } from '../pending/PendingScreen.js'
