"""Words by which people ask for things, in English and Chinese, gathered by what they mean. Data only.

A row is one meaning: English words for it; English words that hint at it; Chinese words for it; Chinese words that
hint at it. Its first word names it. A word of several parts is written with `_`, and a word may stand in several
rows. `bot/toolchoice/chooser.py` finds by these rows that 明天要带伞吗 is answered by a tool that is described as "forecast".
"""

# ruff: noqa: E501 - a row is one meaning, and stays one line however many words there are for it.

from __future__ import annotations

from typing import Final

ROWS: Final = """
weather forecast temperature climate | umbrella rain rainy sunny snow wind windy humid humidity hot cold warm degree storm typhoon jacket coat wear sunscreen outdoors | 天气 天气预报 气温 预报 温度 几度 多少度 气象 | 下雨 下雪 带伞 雨伞 降雨 刮风 台风 气候 冷 热 穿什么 羽绒服 外套 晴 湿度 暴雨 降温 防晒
air air_quality pollution aqi smog pollutant | haze breathe mask dust pollen pm2 | 空气质量 空气 污染 雾霾 霾 沙尘 | 口罩 花粉
sun sunrise sunset dawn dusk moon twilight daylight | full_moon sun_go_down sun_come_up get_dark get_light | 日出 日落 月亮 月相 黎明 黄昏 | 天黑 天亮 满月 看日出
earthquake quake seismic disaster tsunami | magnitude | 地震 震级 海啸 灾害 | 余震
search web google internet online look_up lookup find_out | find who what when which why latest current source fact information website | 搜索 搜寻 搜一下 查一下 上网 网上 百度 检索 查询 资料 | 查 找 最新 谁 哪 什么 来源 信息 资讯
page webpage website url link fetch browse | read article site open address post | 网页 链接 网址 网站 | 打开 这篇文章 公众号 读一下
news headline article press newspaper breaking journalist | latest story event happening happened report today | 新闻 头条 报道 消息 时事 快讯 热搜 | 最新 发生 今天 事件
picture image photo photograph photography wallpaper illustration | look_like show_me png jpg | 图片 照片 图像 相片 壁纸 图 截图 | 长什么样 配图
video clip film youtube footage tutorial | watch bilibili tiktok movie | 视频 影片 短片 录像 教程 | 看 哔哩哔哩 抖音 b站
encyclopedia wikipedia encyclopaedia biography | who_was who_is what_is history person born founder famous | 百科 维基 是谁 什么是 生平 | 历史 人物 由来 介绍一下 出生
paper papers study scholarly academic research literature journal scientific abstract citation arxiv preprint peer_review peer_reviewed | science evidence publication author scholar survey findings | 论文 文献 研究 学术 期刊 综述 摘要 | 科学 证据 发表 作者 引用
citation cite reference bibliography bibliographic bibtex doi | apa mla chicago style footnote | 引用 参考文献 引文 文献格式 引用格式 | 格式 脚注
book novel isbn publisher library literature author | read written_by pages fiction | 书 小说 图书 书籍 出版社 著作 出版 | 作者 读 作品 书名 页
patent invention trademark intellectual_property | inventor claim | 专利 发明 商标 知识产权 | 发明人
calculate calculator arithmetic expression compute sum math maths mathematics evaluate | percent percentage multiply multiplied plus minus times divide divided square root power factorial equal how_much add tip split total per_person | 计算 算一下 计算器 算术 等于 数学 乘以 除以 表达式 | 加 减 乘 除 根号 平方 立方 百分之 百分比 多少 阶乘 总和 平摊 一共 小费 算
unit convert conversion measurement measure kilometre kilometer km mile metre meter foot feet inch pound kilogram kg ounce litre liter gallon celsius fahrenheit acre hectare | length mass weight volume speed temperature area how_many big long heavy cup | 单位 换算 转换 公里 千米 英里 米 英尺 英寸 磅 公斤 千克 盎司 升 加仑 摄氏 华氏 亩 公顷 平方米 斤 | 长度 重量 体积 面积 速度 多长 多重
plot graph chart curve function visualize visualise diagram | draw axis sin cos line bar | 函数图 图像 曲线 绘图 图表 折线图 柱状图 函数 作图 可视化 | 画出 坐标
statistics mean median average deviation variance quartile correlation regression distribution | numbers series data | 统计 平均数 平均值 中位数 方差 标准差 相关系数 平均 众数 分布 | 数据 这组数
equation solve algebra integral derivative calculus root | unknown factor simplify | 方程 解方程 积分 导数 求导 微积分 代数 | 求解 因式分解
time clock o'clock timezone time_zone zone hour | now what_time weekday date today day late | 时间 几点 时区 钟 现在几点 | 现在 当前 点钟 时差
date weekday calendar_day day_of_week | today what_day tomorrow yesterday week | 日期 几号 星期几 周几 礼拜几 今天星期几 农历 | 今天 明天 昨天 号
days duration difference countdown between_dates interval elapsed | how_long until since days_left between count workday working_day age old ago weeks anniversary | 多少天 几天 天数 相差 倒计时 工作日 间隔 | 还有多久 距离 过了 多久 到今天 周年 岁
holiday bank_holiday public_holiday festival vacation day_off | christmas easter thanksgiving national_day off closed long_weekend | 节假日 假期 放假 节日 假日 法定 调休 长假 | 国庆 春节 中秋 端午 五一 圣诞 休息
stock share shares ticker quote equity index market nasdaq dow trading exchange | price up down company nvda aapl tsla msft shareholder | 股票 股价 大盘 指数 股市 行情 上证 A股 港股 美股 | 涨 跌 涨停 市值 公司 收盘
financial revenue profit earnings earning balance_sheet cash_flow income annual_report quarterly quarter fiscal ebitda | earn earned company report loss sales growth turnover made | 财报 营收 利润 净利润 收入 年报 季报 资产负债 现金流 业绩 | 公司 赚 亏损 盈利 去年 季度
currency exchange_rate forex exchange foreign_exchange money rate | dollar euro yen pound sterling yuan rmb usd eur gbp jpy cny hkd krw chf aud cad won rupee franc baht convert buck quid | 汇率 货币 外汇 换汇 兑换 兑 币种 | 美元 欧元 日元 英镑 人民币 港币 韩元 美金 泰铢 卢布 换成 多少钱 钱
crypto cryptocurrency bitcoin ethereum coin token btc eth blockchain dogecoin solana | wallet price | 加密货币 比特币 以太坊 虚拟货币 币价 数字货币 区块链 狗狗币 | 币 行情
loan mortgage instalment installment repayment interest borrow credit debt lend amortization | monthly_payment pay_each_month per_month rate years house term | 贷款 房贷 月供 利息 还款 利率 车贷 分期 借款 | 每月还 借 还 年利率 首付 等额本息
tax salary payroll income_tax vat | deduct wage take_home | 税 个税 工资 所得税 增值税 社保 | 税后 扣
shop shopping product buy price purchase order store discount deal | cheap cheapest cost sell amazon taobao how_much | 购物 商品 价格 买 淘宝 京东 优惠 折扣 下单 | 多少钱 便宜 卖 性价比
flight airline airfare plane airplane airport fly air_travel flying | ticket fare departure arrive land landed depart journey trip boarding cabin | 航班 机票 飞机 飞 航空 机场 | 票 起飞 出发 直飞 舱
status delayed delay on_time gate landed | late arrive arrived cancelled terminal | 状态 晚点 延误 准点 登机口 到了吗 | 起飞 落地 取消 到了
hotel accommodation lodging room hostel airbnb inn resort bed_and_breakfast | stay night overnight sleep somewhere_to_stay place_to_stay check_in booking book guest | 酒店 宾馆 住宿 民宿 旅馆 客栈 订房 | 住 住哪 入住 晚 房间
train railway rail high_speed_rail station timetable | ticket departure platform seat carriage | 火车 高铁 动车 车次 列车 铁路 余票 火车票 | 票 车站 站 发车 二等座
bus subway metro tram transit public_transport underground | stop line ride | 公交 地铁 捷运 公交车 巴士 | 站 线路 换乘
route direction directions way navigate navigation drive driving walk walking cycle transit distance path | how_far how_do_i_get get_to from long_take car foot bicycle map traffic road | 路线 导航 怎么走 怎么去 开车 步行 驾车 骑行 路况 | 多远 多久 到 走路 堵车 距离 坐车 路
map geocode coordinate coordinates latitude longitude address location gps | where street place zip postcode | 地图 坐标 经纬度 经度 纬度 地址 位置 定位 | 在哪 路 街 邮编
nearby near restaurant cafe pharmacy place shop closest nearest around_here | coffee petrol station atm bar food eat supermarket hospital where poi | 附近 周围 身边 周边 餐厅 咖啡馆 药店 最近的 餐馆 加油站 超市 | 好吃的 哪里有 哪有 在哪 吃饭 店 美食
visa passport immigration entry border customs embassy | enter citizen travel country document permit nationality | 签证 护照 入境 出境 免签 大使馆 海关 | 出国 国家 办
travel trip tourism itinerary sightseeing attraction vacation | visit guide plan tour holiday | 旅游 旅行 行程 景点 攻略 出行 | 游 玩 自由行
taxi ride cab uber | pick_up lift car | 打车 出租车 计程车 网约车 滴滴 叫车 | 车
translate translation translator interpreter | how_do_you_say language into english french german spanish chinese japanese korean italian finnish russian arabic portuguese mean in_english in_french in_german in_spanish in_chinese in_japanese put_this_into | 翻译 译成 译文 翻成 怎么说 译 | 英语 法语 德语 西班牙语 日语 韩语 英文 中文 外语 语言 意大利语 俄语
dictionary define definition meaning synonym antonym etymology pronunciation word | mean what_does term spell origin pronounce vocabulary | 词典 字典 释义 词义 近义词 反义词 同义词 含义 什么意思 定义 | 意思 词 成语 词源 造句
grammar spelling proofread proofreading punctuation correct typo | sentence mistake error correction check english writing essay | 语法 拼写 校对 错别字 病句 标点 改错 | 错误 句子 修改 润色 通顺
pinyin pronounce tone pronunciation | read character chinese | 拼音 声调 读音 怎么读 注音 发音 | 念 汉字 字 读
summarize summary summarise condense gist tldr abstract key_point outline shorten | short long brief main_point document | 总结 摘要 概括 概要 归纳 要点 提炼 | 缩短 主要内容 大意 太长 概述
document file docx doc text_file word_document | report txt upload read | 文档 档案 文件 文稿 附件 | 报告 材料 内容 稿
pdf | page table scan extract document invoice | PDF | 章 页 提取
spreadsheet excel csv xlsx table worksheet | row column export figure data sheet cell | 表格 电子表格 Excel 报表 | 数据 行 列 导出
slide slides presentation powerpoint ppt pptx deck keynote | outline talk theme bullet | 幻灯片 演示文稿 PPT 演示 | 大纲 演讲 汇报
draw paint design generate_image sketch drawing painting illustrate illustration create_picture logo artwork render | picture image poster icon style avatar cartoon watercolour art cover create make | 画 绘画 绘制 画图 生成图片 作画 插画 海报 设计 | 图片 头像 风格 卡通 水彩 标志 封面 一幅 一张
edit crop resize background retouch brightness rotate photoshop filter | photo picture image remove cut change png | 裁剪 裁 抠图 修图 背景 P图 去背景 旋转 滤镜 | 照片 图片 缩小 调亮 改 去掉 放大
ocr recognize scan text_in_image characters | written_on photo receipt handwriting screenshot picture read image jpg | 识别 文字识别 扫描 提取文字 图中文字 | 截图 照片 文字 手写 小票 发票 写的什么
describe_image vision caption visual | what_is_in_this_picture see shown photo | 看图 图里 图片里 描述图片 | 是什么 照片
speech speak voice read_aloud aloud say tts text_to_speech audio narrate out_loud | listen sound hear spoken pronounce | 语音 朗读 念 读出来 念给我听 配音 播报 | 声音 听 音频 读给
transcribe transcript transcription dictation subtitle speech_to_text | recording audio meeting said mp3 spoken interview voice write_down recorded speech | 转录 转写 转成文字 听写 字幕 语音转文字 | 录音 音频 会议 采访 语音
audio recording sound mp3 music | listen file | 音频 录音 声音 | 听
qr barcode qr_code | scan code link phone | 二维码 条码 扫码 | 码 扫
calendar event appointment meeting schedule diary invite agenda | lunch dinner book arrange put monday tuesday wednesday thursday friday saturday sunday noon o'clock attendees set_up plan tomorrow | 日历 日程 会议 预约 约 安排 行程 开会 | 周一 周二 周三 周四 周五 周六 周日 下午 上午 会 点 时间 见面 聚餐
agenda schedule free busy upcoming planned what_have_i_got on_my_calendar list_events | tomorrow week today evening am_i do_i_have my_day availability | 日程 安排 有空 空闲 忙不忙 行程 | 明天 下周 今天 有什么 有哪些 我的
remind reminder alarm timer alert notify wake | forget later minute hour remember don't_forget at o'clock in tonight | 提醒 闹钟 定时 叫我 叫醒 通知 倒计时 | 忘 别忘 分钟后 小时后 半小时 点 起床 记得
email mail e-mail message send recipient | write tell subject body late letter reply forward | 邮件 发邮件 电邮 发信 邮箱 写信 | 发给 告诉 抄送 回复 收件人 附件 给
mailbox inbox unread mail email | reply message sender received invoice newsletter answer | 收件箱 邮箱 未读 来信 收到的邮件 | 邮件 账单 发件人 回信 回复
message sms chat slack text_message post | send tell channel notify | 消息 短信 发消息 群 私信 | 发 告诉 转告
todo to-do task checklist shopping_list to_do | list add item buy do finish due deadline grocery errand | 待办 任务 清单 购物清单 要做的事 | 加到 添加 买 完成 截止 事项
note notes jot memo write_down notebook | save store remember record keep down | 笔记 记一下 备忘 便签 记下 备忘录 | 记 保存 记住 写下
contact phone telephone number address_book birthday | call who reach email | 联系人 电话 通讯录 手机号 号码 联系方式 | 生日 打给 联系
code python script program programme execute run sandbox snippet | print output function javascript bug programming loop shell | 代码 脚本 程序 程式 运行 执行 编程 跑一下 | 输出 函数 结果 Python 打印
repository github issue pull_request bug repo commit gitlab branch | open closed code merge release project | 仓库 代码库 拉取请求 提交 GitHub issue | 分支 没关 合并 开源
database sql query table select postgres mysql | rows customer order users count per group company data records | 数据库 SQL 查询语句 数据表 | 用户数 订单 客户 表 新增 记录
api http request endpoint rest post curl webhook | get json status response header call server | 接口 请求 API HTTP | 调用 返回 发送 状态码
domain dns ip whois registrar hostname nameserver mx | server website mail resolve registered owner ping host | 域名 解析 服务器 IP DNS | 注册 网站 谁注册
regex pattern regular_expression | match string | 正则 正则表达式 匹配 | 字符串
json format xml yaml | parse pretty validate | 格式化 JSON 解析 | 校验
password passphrase random secret uuid | strong secure generate | 密码 口令 随机 | 安全 生成 强
random dice coin_flip choose lottery draw_lots roll | pick decide number | 随机 掷骰子 骰子 抛硬币 抽签 抽奖 | 选一个 决定
recipe cook cooking dish ingredient bake cuisine meal | eat dinner make egg tomato chicken vegetarian vegan kitchen soup food oven boil fry | 菜谱 食谱 做菜 怎么做 做法 食材 烹饪 | 菜 炒 炖 烧 煮 吃 汤 鸡蛋 西红柿 牛肉 红烧 蒸 烤
nutrition calorie calories protein fat carbohydrate vitamin diet nutrient kcal | healthy food eat sugar fibre gram meal weight | 营养 热量 卡路里 蛋白质 脂肪 碳水 维生素 大卡 | 健康 减肥 食物 糖 一碗 克
restaurant reservation dinner table menu | eat food book cuisine | 餐厅 订座 餐馆 菜单 | 吃 饭店 美食
parcel package delivery shipment tracking courier shipping logistics postal | track number where arrive order ship ups fedex dhl delivered | 快递 包裹 物流 运单 运单号 单号 派送 | 到哪 到哪了 发货 寄 签收 查快递 顺丰
movie film cinema director actor cast series television showtime tv show theatre imdb | directed watch rating star starring played episode season release what's_on screening | 电影 影片 导演 演员 电视剧 影院 豆瓣 上映 剧集 | 评分 主演 看 多少分 票房 集 场次
music song singer playlist album artist lyrics spotify band concert jazz | play listen sing track hear playback queue party rock pop techno classical hip_hop | 音乐 歌 歌曲 歌手 歌词 歌单 专辑 播放 乐队 演唱会 爵士 | 听 放 唱 首
game games video_game steam | play player level | 游戏 电子游戏 | 玩 攻略
match score sports football soccer basketball tennis team league fixture game table standings nba championship cup olympics baseball | win won beat player result season last_night final play arsenal goal tournament | 比赛 比分 球队 足球 篮球 网球 联赛 积分榜 赛程 英超 NBA 体育 世界杯 | 赢 输 球员 排名 队 昨天 决赛 冠军 进球
home light lamp heating thermostat appliance smart_home air_conditioning air_conditioner bulb curtain | switch turn_on turn_off turn_down brightness blind blinds shutter gate garage brighter dimmer heater bedroom kitchen living_room cold warm_up dim room fan tv | 智能家居 灯 空调 暖气 家电 窗帘 开灯 关灯 电器 | 打开 关掉 客厅 卧室 调到 温度 开 关 家
health medicine drug symptom doctor hospital disease medication dose medical | pain fever headache pill sick illness side_effect cough | 健康 药 症状 医生 医院 疾病 药品 用药 | 疼 发烧 头痛 副作用 咳嗽 生病 吃药
fitness exercise workout gym run steps training | heart_rate sleep muscle | 健身 运动 锻炼 跑步 步数 | 心率 睡眠
job jobs career vacancy hiring recruit resume cv | work salary apply position | 招聘 工作 求职 职位 简历 | 岗位 面试 应聘
law legal regulation statute court contract | lawyer allowed rule | 法律 法规 条例 合同 法院 | 律师 合法 违法 判决
history today_in_history anniversary event | year happened | 历史 历史上的今天 大事记 | 年
joke poem story riddle horoscope quote | funny tell inspire | 笑话 诗 故事 谜语 星座 运势 名言 | 讲 搞笑
memory remember recall forget fact knowledge_graph entity entities observation node | told_you know_about_me my_name preference | 记忆 记住 记得 忘掉 | 我说过 我的 别忘
color colour hex rgb palette | red blue green | 颜色 配色 色值 | 红 蓝
compress zip archive file_size | smaller unpack | 压缩 解压 压缩包 | 变小
shorten short_link url_shortener | link url | 短链接 短网址 | 网址
filesystem directory folder subfolder path disk rename | move desktop file files downloads permission metadata | 文件夹 目录 路径 磁盘 桌面 改名 重命名 | 移动 新建 文件
git commit branch checkout diff staged unstaged stage merge working_tree working_copy | changes push pull change | 提交 分支 暂存 合并 | 修改 改了 拉
browser navigate screenshot click form snapshot | button page fill fill_in sign_up log_in submit | 浏览器 截图 截屏 填表 点击 表单 | 填上 填写 按钮 提交
channel thread workspace slack | team everyone colleagues group announce ping reply post message | 频道 讨论串 | 团队 大家 同事 群
payment invoice refund subscription billing | pay paid charge card plan bill customer due | 付款 支付 发票 账单 退款 订阅 | 客户 付 缴费
server container docker kubernetes pod cluster deploy deployment instance | restart logs running image node crash | 容器 集群 部署 服务器 实例 | 重启 日志
monitoring error exception stack_trace incident outage | failing broken latency crash production | 报错 异常 监控 | 崩溃 线上
design mockup prototype frame component figma | layout style screen | 设计稿 原型 组件 | 版式
crm lead deal pipeline opportunity | customer company contact account sales | 线索 商机 | 客户 销售
project sprint backlog milestone epic board kanban roadmap | assign team plan | 项目 迭代 看板 里程碑 | 指派
warning alert hazard | storm flood tornado hurricane danger | 预警 警报 警告 | 台风 暴雨 洪水
state status sensor device device_state | open closed locked on running door garage window | 状态 传感器 设备 | 门 开着 关着 关了
download save upload drive cloud storage folder | file dropbox | 下载 上传 云端 网盘 云盘 存储 | 文件 文件夹
ticket support incident helpdesk jira bug | customer open status | 工单 客服 故障 | 问题
social twitter tweet weibo post follower trending instagram reddit hashtag | account feed user | 微博 推特 热搜 社交 帖子 小红书 | 粉丝 账号 用户
""".strip()
"""One meaning a line; columns are parted by `|`."""

SHAPES: Final = (
    (r"(?<![\d-])\d[\d.,]{0,30}\s*(?:[+*/×÷^]|\*\*|\s-\s)\s*\(?\d|\)\s*[-+*/×÷^]|\d\s*%", "calculate", 1.0),
    (r"https?://\S+|\bwww\.\S+", "page", 1.0),
    (r"[\w.+-]@[\w-]+\.\w", "email", 0.5),
    (r"\b10\.\d{4,9}/\S+|\barxiv:\d", "citation", 1.0),
    (r"\b10\.\d{4,9}/\S+|\barxiv:\d", "paper", 0.7),
    (r"\.pdf\b", "pdf", 1.0),
    (r"\.(?:docx?|txt|md|odt|rtf)\b", "document", 1.0),
    (r"\.(?:xlsx?|csv|ods)\b", "spreadsheet", 1.0),
    (r"\.pptx?\b", "slide", 1.0),
    (r"\.(?:png|jpe?g|gif|webp|heic)\b", "picture", 1.0),
    (r"\.(?:mp3|wav|m4a|ogg|flac)\b", "audio", 1.0),
    (
        r"\w\.(?:tar|t?gz|zip|rar|7z|bak|log|json|ya?ml|toml|ini|cfg|sh|py|js|ts|docx?|txt|md|pdf|xlsx?|csv)\b",
        "filesystem",
        0.6,
    ),
    (r"(?:^|\s)~?/[\w.-]+", "filesystem", 0.6),
    (r"(?:^|\s)#[^\W\d_][\w-]+", "channel", 1.0),
    (r"\.(?:mp4|mov|mkv|webm)\b", "video", 1.0),
    (r"(?<![/@\w.-])(?:[a-z0-9-]+\.)+(?:com|org|net|io|cn|de|dev|ai)\b(?!/)", "domain", 0.5),
    (r"\b\d{1,3}(?:\.\d{1,3}){3}\b", "domain", 1.0),
    (r"\b(?:[a-z]{2}|[a-z]\d|\d[a-z])\s?\d{3,4}\b", "flight", 0.6),
    (r"\b[a-z]{2,3}\d{6,}\b|\b\d{11,}\b", "parcel", 0.7),
    (r"[$€£¥₹]\s?\d|\d\s?[$€£¥₹]", "currency", 0.6),
    (r"(?<![/\w.-])[\w-]+/[\w.-]+\b(?!/)", "repository", 0.3),
    (r"```|\bprint\(|\bdef \w+\(|\bimport \w+", "code", 1.0),
    (r"\b(?:at|by) \d{1,2}(?::\d\d)?\b|\bin \d+ (?:min|hour)|\d\s*(?:点|分钟后|小时后)", "remind", 0.4),
)
"""What a message looks like → which meaning it hints at, and how strongly (all are matched in lower case)."""
