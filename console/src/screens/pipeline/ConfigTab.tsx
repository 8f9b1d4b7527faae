export { PendingScreen as ConfigTab } from '../pending/PendingScreen.js'
