"""Match people's words against our tables, whose Chinese is written in simplified characters."""

from __future__ import annotations

import re
from typing import Final

_TRADITIONAL: Final = (
    "專業東絲兩個為麗舉義烏樂書買虧亞產畝億從崙倉們眾會傘傳倫債儲兌蘭關茲養內冊寫軍農決況淨減鳳則剛刪別劇辦務動勢區醫華協單賣盧臥廳歷厲壓廈縣參發變號嗎員嗶嘯嘍圍國圖圓場塊聲處備頭夾獎奧學寶實賓對導將爾塵嘗"
    "歲崗島幣師帶幫廣慶庫應開張強歸當錄憶態總戲戶執掃拋摳護報擬損換擲攝攤數無舊時顯術權條來標棧樣檔檢歡歐畢匯漢湯沒瀏潤漲溫灣濕滿濾濱燈靈災點煉煩燒熱愛狀獻現電畫盤磯碼禮積稅筆篩簽簡籃紅約級緯綱納紙紐線組紹"
    "經絨結繪給絡統績維綜緬編縮羅職聯腳艙節蘇藥萊營薩藍虛見規視覽計訂讓議訊記講論設訪證評識訴詞譯試詩話誕詢語誤說請諾讀誰調謎謝譜負財賬貨質購貸費資賺賽讚贏蹤車轉載輔輯輸邊達過邁運還這進遠違連選遞郵釋鐘錢鐵"
    "銖鏈錯鍛鎮鎊鏡長門問閒間鬧聞閱隊階陸隨霧韓頁頃項順須頓預頻題顏額風飛飪飯館馬駕驗騎魯鮮雞麥黃齊雲價優體幾釐臺後聽復複簾並併係繫誌據曬機闆氣燉確種祕網臘裡裏麵隻採製準於週迴註唸託佈乾範穀餘鬆極築麼髮曆鍾"
    "衝爲尋軟錶離遊"
)
_SIMPLIFIED: Final = (
    "专业东丝两个为丽举义乌乐书买亏亚产亩亿从仑仓们众会伞传伦债储兑兰关兹养内册写军农决况净减凤则刚删别剧办务动势区医华协单卖卢卧厅历厉压厦县参发变号吗员哔啸喽围国图圆场块声处备头夹奖奥学宝实宾对导将尔尘尝"
    "岁岗岛币师带帮广庆库应开张强归当录忆态总戏户执扫抛抠护报拟损换掷摄摊数无旧时显术权条来标栈样档检欢欧毕汇汉汤没浏润涨温湾湿满滤滨灯灵灾点炼烦烧热爱状献现电画盘矶码礼积税笔筛签简篮红约级纬纲纳纸纽线组绍"
    "经绒结绘给络统绩维综缅编缩罗职联脚舱节苏药莱营萨蓝虚见规视览计订让议讯记讲论设访证评识诉词译试诗话诞询语误说请诺读谁调谜谢谱负财账货质购贷费资赚赛赞赢踪车转载辅辑输边达过迈运还这进远违连选递邮释钟钱铁"
    "铢链错锻镇镑镜长门问闲间闹闻阅队阶陆随雾韩页顷项顺须顿预频题颜额风飞饪饭馆马驾验骑鲁鲜鸡麦黄齐云价优体几厘台后听复复帘并并系系志据晒机板气炖确种秘网腊里里面只采制准于周回注念托布干范谷余松极筑么发历钟"
    "冲为寻软表离游"
)
_TABLE: Final = str.maketrans(_TRADITIONAL, _SIMPLIFIED)


def simplified(text: str) -> str:
    """`text` with its traditional characters replaced one for one by simplified ones that our tables have."""
    return text.translate(_TABLE)


def phrases(text: str) -> list[str]:
    """Return the phrases of a text in which ` / ` separates them."""
    return " ".join(text.split()).split(" / ")


def any_of(text: str) -> str:
    """Return a pattern that matches any of the phrases in `text`, the longest first."""
    return "|".join(re.escape(phrase) for phrase in sorted(phrases(text), key=len, reverse=True))
